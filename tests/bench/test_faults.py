"""What goes wrong around the agent: a bad model server, dead embeddings, a broken database, a fault of our own."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest
from django.db import connection

from agents.contract import Cancelled, Limits, ServiceAway, Usage
from agents.model.endpoints import StoredCall
from agents.registry import AGENTS
from bench.models import Endpoint, EventVector, ModelCall, Trajectory, Unit, Verdict
from bench.redis_server import redis_client
from bench.results.report import results_of
from bench.runs import tasks, worker
from bench.runs.calls import DatabaseStore, StopSign
from bench.runs.execute import act
from bench.runs.launch import launch_run
from bench.runs.outages import waiting_for
from bench.runs.spec import RunSpec
from bench.runs.worker import holding
from tests.bench.live import canonical, wait_for, wait_until_over

KINDS = ("http429", "http500", "timeout", "malformed_json", "prose", "truncated", "empty_choices")
ENDED = {"scored", "failed"}


def stand_in_as_endpoint(slug, faults, url, **fields):
    """The stand-in as a registered endpoint, so that a time-out is a second and not a minute."""
    values = {"base_url": url, "model": f"offline+{faults}", "family": "stand-in", "timeout_s": 1.5, **fields}
    return Endpoint.objects.create(slug=slug, **values)


def check_ending(run, offline):
    """Every unit in a defined state, both denominators whole, errors counted beside the means."""
    states = Counter(Unit.objects.filter(run=run).values_list("status", flat=True))
    assert set(states) <= ENDED
    for cell in results_of(run)["cells"]:
        assert cell["planned"] == cell["evaluated"] + cell["errors"] + cell["unscored"]
        assert cell["task_success"]["n"] == cell["evaluated"]
    assert sum(cell["planned"] for cell in results_of(run)["cells"]) == states.total()
    assert sum(cell["errors"] for cell in results_of(run)["cells"]) == states["failed"]
    for unit in Unit.objects.filter(run=run, status="failed"):
        assert unit.error  # says why
        assert not Trajectory.objects.filter(unit=unit).exists()


@pytest.mark.django_db(transaction=True)
def test_each_fault_of_the_model_server_and_all_mixed_leave_every_unit_in_a_defined_state(tiny, offline, worker):
    mixed = "+".join(f"{kind}=0.1" for kind in KINDS)
    wanted = {kind: f"{kind}=0.2" for kind in KINDS} | {"mixed": mixed}
    for letter, faults in (("a", "+prose=0.5"), ("b", ""), ("c", "")):
        Endpoint.objects.create(slug=f"judge-{letter}", base_url=offline.url, model=f"offline-judge-{letter}{faults}")
    judges = ["judge-a", "judge-b", "judge-c"]
    runs = {}
    for slug, faults in wanted.items():
        stand_in_as_endpoint(slug.replace("_", "-"), faults, offline.url)
        wish = {"dataset": "tiny", "methods": ["rag", "react"], "limit": 2, "judges": judges, "max_in_flight": 4}
        runs[slug] = launch_run(RunSpec(model=slug.replace("_", "-"), **wish))
    for run in runs.values():
        check_ending(wait_until_over(run), offline)

    assert Unit.objects.filter(status="scored").count() > Unit.objects.count() / 2
    # A 200 is bought; no request was answered twice and all that was answered is in the books.
    kept = Counter(map(canonical, ModelCall.objects.values_list("request", flat=True)))
    assert set(kept.values()) == {1}
    answered = {body for body in offline.bought if '"model": "offline+timeout' not in body}
    assert answered == {body for body in kept if '"model": "offline+timeout' not in body}
    assert {exchange.status for exchange in offline.exchanges} >= {200, 429, 500}


@pytest.mark.django_db(transaction=True)
def test_a_run_on_a_dead_endpoint_waits_and_says_so_and_goes_on_by_itself(tiny, offline, worker):
    row = stand_in_as_endpoint("dies", "http500=1", offline.url, max_in_flight=8)
    Endpoint.objects.create(slug="judge", base_url=offline.url, model="offline-judge-a")
    wish = {"dataset": "tiny", "methods": ["no_history"], "limit": 4, "judges": ["judge"]}
    run = launch_run(RunSpec(model="dies", **wish))
    wait_for("units wait for the endpoint", lambda: waiting_for(run))
    (waiting,) = waiting_for(run)
    assert waiting.away == "endpoint 'dies'"
    assert "status 500" in waiting.reason
    run.refresh_from_db()
    assert run.status == "running"

    Endpoint.objects.filter(pk=row.pk).update(model="offline")
    run = wait_until_over(run)
    assert waiting_for(run) == []
    assert Counter(Unit.objects.filter(run=run).values_list("status", flat=True)) == {"scored": 4}
    assert set(ModelCall.objects.filter(stage="probe").values_list("request__max_tokens", flat=True)) == {1}


def act_here(run):
    """The first unit of the run, worked on in this process."""
    unit = Unit.objects.filter(run=run).first()
    act(unit.pk, "here")
    unit.refresh_from_db()
    return unit


@pytest.fixture
def run_of_rag(tiny, offline):
    return launch_run(RunSpec(dataset="tiny", methods=["rag"], model="offline", limit=1))


def test_missing_vectors_during_search_are_an_infrastructure_failure(run_of_rag):
    EventVector.objects.all().delete()
    unit = act_here(run_of_rag)
    assert unit.status == "failed"
    assert "embed_events" in unit.error


def statement_fails(monkeypatch, part):
    """From now on the database refuses statements with ``part`` in them, as a broken connection would."""
    from django.db import OperationalError

    def refuse(execute, sql, params, many, context):
        if part in sql:
            raise OperationalError("server closed the connection unexpectedly")
        return execute(sql, params, many, context)

    return connection.execute_wrapper(refuse)


@pytest.mark.parametrize("table", ["bench_eventvector", "bench_modelcall"])
def test_a_database_error_within_the_agents_course_is_never_scored(run_of_rag, monkeypatch, table):
    unit = Unit.objects.get(run=run_of_rag)
    with statement_fails(monkeypatch, table):
        tasks.act_unit.run(unit.pk, run_of_rag.pk)
    unit.refresh_from_db()
    assert (unit.status, unit.waits_for, unit.attempts) == ("queued", "PostgreSQL", 0)
    assert not Trajectory.objects.exists()


@pytest.mark.parametrize("of_a_call", [DatabaseStore, StopSign])
def test_every_look_into_the_books_turns_database_errors_into_a_service_that_is_away(
    run_of_rag, monkeypatch, of_a_call
):
    look = {
        DatabaseStore: lambda: DatabaseStore(run_id=run_of_rag.pk, unit_id=1, endpoint="x").find(["key"]),
        StopSign: StopSign(run_of_rag.pk),
    }[of_a_call]
    with statement_fails(monkeypatch, "SELECT"), pytest.raises(ServiceAway) as caught:
        look()
    assert caught.value.away == "PostgreSQL"


def test_an_agent_that_raises_is_an_agents_failure_and_scores_0(run_of_rag, monkeypatch):
    def broken(task, **_):
        raise RuntimeError("the agent's own fault")

    replaced = AGENTS["rag"].__class__("rag", broken, "RAG")
    monkeypatch.setitem(AGENTS, "rag", replaced)
    unit = act_here(run_of_rag)
    assert unit.trajectory.termination == "agent_error"
    (cell,) = results_of(run_of_rag)["cells"]
    assert (cell["evaluated"], cell["errors"], cell["task_success"]["mean"]) == (1, 0, 0.0)


def test_a_fault_of_our_own_fails_the_unit_at_once_with_its_reason(run_of_rag):
    unit = Unit.objects.get(run=run_of_rag)
    Unit.objects.filter(pk=unit.pk).update(method="an_agent_that_was_removed")
    with pytest.raises(ValueError, match="unknown method"):
        tasks.act_unit.run(unit.pk, unit.run_id)
    unit.refresh_from_db()
    assert unit.status == "failed"
    assert "unknown method 'an_agent_that_was_removed'" in unit.error


def test_a_message_about_a_unit_that_is_gone_is_dropped(db):
    tasks.act_unit.run(987654321, 987654321)
    tasks.judge_unit.run(987654321, 987654321)


def test_a_unit_whose_trajectory_cannot_be_stored_goes_back_and_replays(run_of_rag, monkeypatch, offline):
    unit = Unit.objects.get(run=run_of_rag)
    with statement_fails(monkeypatch, "bench_trajectory"):
        tasks.act_unit.run(unit.pk, unit.run_id)
    unit.refresh_from_db()
    assert (unit.status, unit.claimed_by, unit.lease_until) == ("queued", "", None)
    bought = offline.bought.total()
    act(unit.pk, "here")
    assert Trajectory.objects.count() == 1
    assert offline.bought.total() == bought


def give_it_a_text_task(run):
    unit = Unit.objects.filter(run=run).first()
    texts = type(unit.task).objects.of_dataset(run.dataset_id).filter(scenario__action_kind="generate")
    Unit.objects.filter(pk=unit.pk).update(task=texts.first())
    return unit


def test_judges_meet_a_text_without_another_message_and_the_run_ends_with_it(run_of_rag):
    unit = give_it_a_text_task(run_of_rag)
    tasks.act_unit.run(unit.pk, run_of_rag.pk)
    unit.refresh_from_db()
    run_of_rag.refresh_from_db()
    assert (unit.status, run_of_rag.status) == ("scored", "done")
    assert set(_values_by_judge()) == set(run_of_rag.manifest["policy"]["panel"])


def test_a_message_that_comes_again_after_its_worker_died_between_acting_and_judging_ends_the_unit(run_of_rag):
    unit = give_it_a_text_task(run_of_rag)
    act(unit.pk, "dead")
    tasks.act_unit.run(unit.pk, run_of_rag.pk)
    unit.refresh_from_db()
    assert unit.status == "scored"


def test_a_message_that_comes_twice_does_not_take_the_lease_from_the_thread_at_work():
    with holding(1):
        with holding(1):
            pass
        assert worker._held[1] == 1
    assert 1 not in worker._held


def test_nothing_is_bought_for_a_run_that_was_removed(run_of_rag):
    store = DatabaseStore(run_id=run_of_rag.pk, unit_id=None, endpoint="x")
    store.put("kept", {}, StoredCall({}, Usage(1, 1, 1, 0.0), 0.1, "act"))
    run_of_rag.delete()
    assert store.find(["kept"]).keys() == {"kept"}
    with pytest.raises(Cancelled, match="was removed"):
        store.find(["new"])


def test_an_answer_that_is_kept_is_replayed_though_a_dead_buyer_still_holds_its_lease(run_of_rag, offline):
    from bench.runs.execute import _llm

    unit = Unit.objects.select_related("run").get(run=run_of_rag)
    ask = partial(
        _llm(unit, "offline", Limits(deadline_s=5)).complete, [{"role": "user", "content": "hi"}], stage="act"
    )
    bought = ask()
    redis_client().set(f"iba:buying:{ModelCall.objects.get().key}", "dead", ex=60)
    again = ask()
    assert (bought.replayed, again.replayed, again.text) == (False, True, bought.text)


def test_a_judge_that_fails_leaves_its_verdicts_unscored_and_never_runs_the_agent_again(run_of_rag, offline):
    from bench.runs.execute import judge

    unit = give_it_a_text_task(run_of_rag)
    policy = run_of_rag.manifest["policy"] | {"panel": ["offline-judge-a+empty_choices=1", "nobody", "offline-judge-c"]}
    run_of_rag.manifest["policy"] = policy
    run_of_rag.save()
    act(unit.pk, "here")
    before = Trajectory.objects.values().get()
    judge(unit.pk, "here")
    unit.refresh_from_db()
    assert unit.status == "scored"
    assert Trajectory.objects.values().get() == before
    by_judge = {name: set(values) for name, values in _values_by_judge().items()}
    assert by_judge["nobody"] == {""}
    assert by_judge["offline-judge-a+empty_choices=1"] == {""}
    assert by_judge["offline-judge-c"] <= {"pass", "fail", "cannot_judge"}


def _values_by_judge():
    found = {}
    for name, value in Verdict.objects.filter(source="judge").values_list("name", "value"):
        found.setdefault(name, []).append(value)
    return found


def test_the_oracle_searches_gold_and_a_database_that_is_away_there_is_no_ending(tiny, offline, monkeypatch):
    run = launch_run(RunSpec(dataset="tiny", methods=["oracle"], model="offline", limit=1))
    unit = Unit.objects.get(run=run)
    with statement_fails(monkeypatch, "bench_checkpoint_evidence"):
        tasks.act_unit.run(unit.pk, run.pk)
    unit.refresh_from_db()
    assert (unit.status, unit.waits_for) == ("queued", "PostgreSQL")
