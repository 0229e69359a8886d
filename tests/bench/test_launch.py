"""Starting runs, and stopping them: cancel, pause, resume, budget."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import Sum
from django.utils import timezone
from kombu.exceptions import OperationalError as QueueError

from agents.contract import BudgetExceeded, Usage
from agents.model.endpoints import StoredCall
from bench.models import Endpoint, ModelCall, Run, Unit
from bench.results.report import results_of
from bench.runs import claim as hands
from bench.runs import tasks
from bench.runs.calls import DatabaseStore
from bench.runs.launch import LaunchError, launch_run, plan_run, set_budget, start
from bench.runs.spec import RunSpec
from tests.annotation.factories import make_run
from tests.bench.live import wait_for, wait_until_over


@pytest.fixture
def small(db):
    """A dataset without vectors, for what never gets as far as a search."""
    return make_run(personas=2).dataset


def wish(small, **changes):
    return {"dataset": small.name, "methods": ["iba", "rag"], "model": "offline", **changes}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"dataset": "nowhere"}, r"unknown dataset 'nowhere'; there are: .*build_dataset --name nowhere"),
        ({"methods": []}, "no method is named; allowed are iba"),
        ({"methods": ["iba", "ibb"]}, "unknown method 'ibb'; allowed are iba"),
        ({"methods": ["external-a/b"]}, "after 'external-' use 2 to 28 small letters"),
        ({"methods": ["iba-memory"]}, "unknown method 'iba-memory'; allowed are .*iba-synthesis"),
        ({"methods": ["rag-synthesis"]}, "unknown method"),
        ({"model": "gpt-0"}, "unknown model 'gpt-0'; known are offline.*add_endpoint"),
        ({"model": "offline+http429=2"}, r"unknown setting 'http429=2': use latency=SECONDS or NAME=0..1"),
        ({"model": "offline+sabotage=0.1"}, "unknown setting 'sabotage=0.1'"),
        ({"model": "offline" + "+prose=0.1" * 20}, "longer than 160 characters"),
        ({"judges": ["offline-judge-a", "nobody"]}, "unknown model 'nobody'"),
        ({"domains": ["gardening"]}, "unknown domain 'gardening'; there are: dining"),
        ({"split": "train"}, "unknown split 'train'; there are: dev, test; leave it out for all"),
        ({"limit": 0}, "limit is 0; it must be from 1"),
        ({"repeats": 21}, "repeats is 21; it must be from 1 to 20"),
        ({"max_in_flight": 0}, "max_in_flight is 0; it must be from 1 to 1024"),
        ({"budget_usd": 0}, "budget_usd is 0; it must be above 0"),
        ({"budget_usd": float("nan")}, "budget_usd is nan"),
        ({"budget_usd": float("inf")}, "budget_usd is inf"),
    ],
)
def test_a_wish_that_does_not_fit_is_refused_with_the_remedy_and_nothing_is_written(small, offline, changes, says):
    before = Run.objects.count(), Unit.objects.count()
    with pytest.raises(LaunchError, match=says):
        launch_run(RunSpec(**wish(small, **changes)))
    assert (Run.objects.count(), Unit.objects.count()) == before


def test_a_real_endpoint_needs_judges_and_the_message_says_how_to_name_them(small):
    Endpoint.objects.create(slug="real", base_url="http://127.0.0.1:9/v1", model="m", family="f")
    with pytest.raises(LaunchError, match="judges must be named: --judges a,b,c"):
        plan_run(RunSpec(**wish(small, model="real")))


def test_a_key_that_is_not_in_the_environment_is_named(small, monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    Endpoint.objects.create(slug="real", base_url="http://127.0.0.1:9/v1", model="m", family="f", key_env="NO_SUCH_KEY")
    with pytest.raises(LaunchError, match=r"takes its key from \$NO_SUCH_KEY, which is not set"):
        plan_run(RunSpec(**wish(small, model="real", judges=["offline-judge-a"])))


def test_a_plan_counts_the_units_and_a_limit_takes_a_fair_part_of_each_persona(small, offline):
    plan = plan_run(RunSpec(**wish(small, repeats=3, limit=2)))
    assert plan.units == 2 * 2 * 3
    run = launch_run(RunSpec(**wish(small, repeats=3, limit=2)))
    units = Unit.objects.filter(run=run)
    assert units.count() == 12
    assert units.values("task__persona").distinct().count() == 2


def test_a_plan_of_one_split_has_the_tasks_of_its_personas_only(small, offline):
    splits = set(small.personas.values_list("split", flat=True))
    planned = {split: plan_run(RunSpec(**wish(small, split=split))).units for split in splits}
    assert sum(planned.values()) == plan_run(RunSpec(**wish(small))).units
    run = launch_run(RunSpec(**wish(small, split=min(splits))))
    assert set(Unit.objects.filter(run=run).values_list("task__persona__split", flat=True)) == {min(splits)}
    assert run.manifest["split"] == min(splits)


def test_a_method_named_twice_runs_once(small, offline):
    assert plan_run(RunSpec(**wish(small, methods=["rag", "rag "]))).spec.methods == ["rag"]


def test_a_queue_that_does_not_answer_leaves_the_run_whole_and_its_units_waiting(small, offline, monkeypatch):
    def unreachable(*_):
        raise QueueError("no Redis")

    run = launch_run(RunSpec(**wish(small)))
    monkeypatch.setattr(tasks.act_unit, "delay", unreachable)
    tasks.dispatch(run.pk)
    units = Unit.objects.filter(run=run)
    assert set(units.values_list("status", flat=True)) == {"queued"}
    units.update(enqueued_at="2025-01-01T00:00Z")
    assert hands.take_back_expired() == [run.pk]  # a heartbeat finds them again


def bill_of(run: Run) -> float:
    """What the books say that its units bought. The probes of its launch are on nobody's bill."""
    return ModelCall.objects.filter(unit__run=run).aggregate(sum=Sum("cost_usd"))["sum"]


@pytest.mark.django_db(transaction=True)
def test_pause_cancel_resume_and_an_empty_purse_stop_new_work_and_lose_nothing(tiny, offline, worker):
    """One run through all of it. The go-between holds calls back, so that each stop comes in mid-work."""
    Endpoint.objects.create(
        slug="paid",
        base_url=offline.url,
        model="offline",
        family="stand-in",
        price_in_per_mtok_usd=10,
        price_out_per_mtok_usd=100,
        system_role=True,
    )
    judges = ["grader-a", "grader-b", "grader-c"]
    for name in judges:
        Endpoint.objects.create(
            slug=name, base_url=offline.url, model=f"offline-judge-{name[-1]}", family="g", system_role=True
        )
    offline.hold(after=3)
    run = launch_run(
        RunSpec(
            dataset="tiny",
            methods=["iba", "rag"],
            model="paid",
            judges=judges,
            limit=4,
            max_in_flight=4,
            budget_usd=1e-6,
        )
    )

    def units(status):
        return Unit.objects.filter(run=run, status=status).count()

    # The purse is empty after the first call: the run pauses, and nothing that was bought is lost.
    offline.release()
    wait_for("the budget pauses the run", lambda: Run.objects.filter(pk=run.pk, status="paused").exists())
    wait_for("what was in flight is given back", lambda: units("running") + units("judging") == 0)
    run.refresh_from_db()
    assert run.budget_hit
    assert units("failed") + units("cancelled") == 0
    assert run.spent_usd == pytest.approx(bill_of(run))
    assert run.spent_usd > run.budget_usd
    calls = len(offline.exchanges)
    hands.resume_run(run.pk)  # the purse is still empty
    tasks.dispatch(run.pk)
    wait_for("it pauses again", lambda: Run.objects.filter(pk=run.pk, status="paused", budget_hit=True).exists())
    assert len(offline.exchanges) == calls

    # With money it goes on, and is cancelled in mid-work.
    wait_for("all is given back", lambda: units("running") + units("judging") == 0)
    set_budget(run.pk, 100)
    offline.hold(after=2)
    hands.resume_run(run.pk)
    tasks.dispatch(run.pk)
    wait_for("calls wait for the model", lambda: offline.waiting >= 2)
    hands.cancel_run(run.pk)
    offline.release()
    wait_for("what was in flight ends", lambda: units("running") + units("judging") + units("queued") == 0)
    assert units("cancelled") > 0
    assert units("failed") == 0
    (iba, rag) = results_of(Run.objects.get(pk=run.pk))["cells"]
    assert (iba["planned"], rag["planned"]) == (4, 4)

    # Resumed by the same worker, it is paused, and resumed to its end. Fewer fit in flight than were cancelled,
    # so some wait for a place whatever the others still finished.
    Run.objects.filter(pk=run.pk).update(max_in_flight=2)
    offline.hold(after=0)
    hands.resume_run(run.pk)
    tasks.dispatch(run.pk)
    wait_for("calls wait again", lambda: offline.waiting >= 2)
    hands.pause_run(run.pk)
    offline.release()
    wait_for("in flight ends, unlike what waits", lambda: units("running") + units("judging") == 0)
    assert units("queued") > 0
    hands.resume_run(run.pk)
    tasks.dispatch(run.pk)
    run = wait_until_over(run)

    assert units("scored") == 8
    assert not offline.bought_again
    assert run.spent_usd == pytest.approx(bill_of(run))
    assert all(cell["evaluated"] == 4 for cell in results_of(run)["cells"])


@pytest.mark.parametrize("budget", [0, -1, float("nan"), float("inf"), 2.5, 2.4])
def test_a_budget_that_is_no_sum_or_is_spent_already_is_refused_and_the_old_one_stands(small, offline, budget):
    run = start(plan_run(RunSpec(**wish(small, budget_usd=3))))
    Run.objects.filter(pk=run.pk).update(spent_usd=2.5)
    with pytest.raises(LaunchError, match=r"above 0|has spent 2.5000 USD already"):
        set_budget(run.pk, budget)
    assert Run.objects.get(pk=run.pk).budget_usd == 3


def test_a_budget_given_in_mid_run_counts_from_the_next_call(small, offline):
    run = start(plan_run(RunSpec(**wish(small))))
    store = DatabaseStore(run_id=run.pk, unit_id=None, endpoint="offline")
    store.find(["new"])
    store.put("kept", {"model": "m"}, StoredCall({"choices": []}, Usage(1, 100, 10, 1.0), 0.1, "act"))
    set_budget(run.pk, 2)
    store.find(["new"])
    Run.objects.filter(pk=run.pk).update(spent_usd=2)
    with pytest.raises(BudgetExceeded, match=r"has spent 2\.00 of 2\.00 USD"):
        store.find(["new"])
    assert store.find(["new", "kept"]).keys() == {"kept"}
    set_budget(run.pk, None)
    store.find(["new"])


def test_a_bought_call_is_kept_as_it_was_and_billed_each_time_it_was_paid(small, offline):
    run = start(plan_run(RunSpec(**wish(small))))
    store = DatabaseStore(run_id=run.pk, unit_id=run.units.first().pk, endpoint="offline")
    counts = {"prompt_tokens": 100, "completion_tokens": 10}
    call = StoredCall({"choices": [{"text": "naïve 100%"}], "usage": counts}, Usage(1, 100, 10, 0.25), 0.5, "act")
    store.put("key", {"model": "m", "messages": []}, call)
    store.put("key", {"model": "m", "messages": []}, call)  # two workers bought it at the same moment
    assert store.find(["key"]) == {"key": call}
    row = ModelCall.objects.get()
    assert (row.endpoint, row.model, row.request) == ("offline", "m", {"model": "m", "messages": []})
    assert (row.unit_id, timezone.now() - row.created_at < timedelta(minutes=1)) == (run.units.first().pk, True)
    assert Run.objects.get(pk=run.pk).spent_usd == 0.5


def test_a_call_without_counts_is_still_an_estimate_when_it_is_replayed(small, offline):
    call = StoredCall({"choices": []}, Usage(1, 100, 10, 0.25, estimated_calls=1), 0.5, "act")
    store = DatabaseStore(run_id=None, unit_id=None, endpoint="x")
    store.put("key", {}, call)
    assert store.find(["key"]) == {"key": call}


def test_what_is_bought_outside_any_run_is_on_no_bill(small, offline):
    run = start(plan_run(RunSpec(**wish(small))))
    DatabaseStore(run_id=None, unit_id=None, endpoint="x").put("key", {}, StoredCall({}, Usage(1, 1, 1, 9.0), 0.1, "a"))
    assert ModelCall.objects.get().cost_usd == 9
    assert Run.objects.get(pk=run.pk).spent_usd == 0


@pytest.mark.parametrize(("field", "changes"), [("model", {"model": "dead"}), ("judges", {"judges": ["dead"]})])
def test_a_model_or_judge_that_does_not_answer_stops_the_launch_and_nothing_is_written(small, offline, field, changes):
    Endpoint.objects.create(slug="dead", base_url="http://127.0.0.1:9/v1", model="m", family="f")
    Endpoint.objects.create(slug="grader", base_url=offline.url, model="offline-judge-a", family="g")
    before = Run.objects.count(), Unit.objects.count()
    with pytest.raises(LaunchError, match=r"endpoint 'dead' .* cannot be reached: .* add_endpoint") as caught:
        launch_run(RunSpec(**wish(small, **{"judges": ["grader"], **changes})))
    assert caught.value.field == field
    assert (Run.objects.count(), Unit.objects.count()) == before


def test_simulated_judges_do_not_grade_a_real_model(small):
    Endpoint.objects.create(slug="real", base_url="http://127.0.0.1:9/v1", model="m", family="f")
    with pytest.raises(LaunchError, match=r"offline-judge-a only grade simulated runs.*--judges a,b,c"):
        plan_run(RunSpec(**wish(small, model="real", judges=["offline-judge-a"])))
