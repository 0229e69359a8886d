"""Verdict rows become scores, scores become cells. A small run of two personas, a call and a text each."""

from __future__ import annotations

import pytest
from django.db import ProgrammingError, transaction

from bench.grading.store import append_verdicts, rubric_version, score_trajectories
from bench.models import CheckpointScore, Run, Trajectory, Unit, UnitStatus, Verdict
from bench.results.losses import losses_by_persona, stage_shares
from bench.results.report import compute, results_of
from tests.annotation.factories import PANEL, make_cast, make_run

pytestmark = pytest.mark.django_db


def say(score: CheckpointScore, source: str, name: str, value: str, rater=None) -> None:
    append_verdicts(
        [
            Verdict(
                trajectory_id=score.trajectory_id,
                checkpoint_id=score.checkpoint_id,
                rubric_version=rubric_version(),
                source=source,
                name=name,
                value=value,
                rater=rater,
            )
        ]
    )
    score_trajectories([score.trajectory_id])


def text_preference(run: Run, method: str = "iba") -> CheckpointScore:
    scores = CheckpointScore.objects.filter(trajectory__unit__run=run, trajectory__unit__method=method)
    return scores.filter(checkpoint__kind="preference", checkpoint__rule__isnull=True).order_by("pk").first()


def cell(run: Run, method: str = "iba", **where) -> dict:
    return next(c for c in compute(run, **where)["cells"] if c["method"] == method)


def test_all_passed_gives_one_and_both_denominators():
    found = cell(make_run())
    assert (found["planned"], found["evaluated"], found["errors"], found["unscored"]) == (4, 4, 0, 0)
    assert found["task_success"]["mean"] == 1
    assert found["task_success"]["n"] == 4


def test_two_judges_that_say_fail_turn_one_of_four_trajectories():
    run = make_run()
    score = text_preference(run)
    for judge in PANEL[:2]:
        say(score, "judge", judge, "fail")
    # iba: 3 of 4 trajectories pass everything; their preference shares are 1, 1, 1, 0
    found = cell(run)
    assert found["task_success"]["mean"] == pytest.approx(3 / 4)
    assert found["preference_satisfaction"]["mean"] == pytest.approx(3 / 4)
    assert cell(run, "rag")["task_success"]["mean"] == 1


def test_one_judge_that_changes_its_mind_does_not_outvote_the_other_two():
    run = make_run()
    say(text_preference(run), "judge", PANEL[0], "fail")
    assert cell(run)["task_success"]["mean"] == 1


def test_a_lost_judge_and_a_split_leave_the_trajectory_unscored_and_not_zero():
    run = make_run()
    score = text_preference(run)
    say(score, "judge", PANEL[0], "fail")
    say(score, "judge", PANEL[1], "cannot_judge")
    found = cell(run)
    assert (found["planned"], found["evaluated"], found["unscored"]) == (4, 3, 1)
    assert found["task_success"]["mean"] == 1
    assert found["headline"] is False  # 3 of 4 is under 95%


def test_a_failed_unit_is_an_error_beside_the_mean():
    run = make_run()
    unit = Unit.objects.filter(run=run, method="iba").first()
    CheckpointScore.objects.filter(trajectory__unit=unit).delete()
    Unit.objects.filter(pk=unit.pk).update(status=UnitStatus.FAILED, error="endpoint down")
    found = cell(run)
    assert (found["planned"], found["evaluated"], found["errors"], found["unscored"]) == (4, 3, 1, 0)


def test_the_three_views_stand_side_by_side():
    run = make_run()
    cast = make_cast()
    score = text_preference(run)
    for name in ("ann", "ben"):
        say(score, "human", name, "fail", cast[name])
    assert cell(run, view="ai")["task_success"]["mean"] == 1
    assert cell(run, view="human")["evaluated"] == 0  # the other checkpoints have no raters
    assert cell(run, view="combined")["task_success"]["mean"] == pytest.approx(3 / 4)


def test_raters_against_the_panel_open_an_adjudication_and_its_verdict_closes_it():
    run = make_run()
    cast = make_cast()
    score = text_preference(run)
    for name in ("ann", "ben"):
        say(score, "human", name, "fail", cast[name])
    assert list(CheckpointScore.objects.to_adjudicate().values_list("pk", flat=True)) == [score.pk]
    say(score, "adjudication", "otto", "pass", cast["otto"])
    assert not CheckpointScore.objects.to_adjudicate().exists()
    score.refresh_from_db()
    assert (score.combined, score.origin) == ("pass", "adjudication")


def test_a_new_verdict_drops_the_cached_results():
    run = make_run()
    before = results_of(run)
    say(text_preference(run), "judge", PANEL[0], "fail")
    say(text_preference(run), "judge", PANEL[1], "fail")
    after = results_of(Run.objects.get(pk=run.pk))
    assert before["cells"][0]["task_success"]["mean"] != after["cells"][0]["task_success"]["mean"]


def test_an_overruled_panel_is_where_that_gap_opened():
    run = make_run()
    cast = make_cast()
    score = text_preference(run)
    for judge in PANEL:
        say(score, "judge", judge, "fail")
    for name in ("ann", "ben"):
        say(score, "human", name, "pass", cast[name])
    assert [row["stage"] for row in stage_shares(losses_by_persona(run))["iba"]] == ["judged_wrong"]


def test_verdicts_can_be_neither_changed_nor_deleted():
    make_run()
    for change in (lambda: Verdict.objects.update(value="fail"), lambda: Verdict.objects.all()._raw_delete("default")):
        with pytest.raises(ProgrammingError, match="append-only"), transaction.atomic():
            change()


def test_scoring_again_changes_nothing():
    run = make_run()
    fields = ("trajectory_id", "checkpoint_id", "combined", "origin", "ai", "human", "gap")
    before = sorted(CheckpointScore.objects.values_list(*fields))
    score_trajectories(Trajectory.objects.filter(unit__run=run).values_list("pk", flat=True))
    assert sorted(CheckpointScore.objects.values_list(*fields)) == before


def test_paired_differences_take_the_units_that_both_have():
    run = make_run()
    score = text_preference(run)
    for judge in PANEL[:2]:
        say(score, "judge", judge, "fail")
    pair = next(p for p in compute(run)["paired"] if p["metric"] == "task_success")
    # iba has 3 of 4, rag 4 of 4: the mean difference over four units is -1/4
    assert (pair["a"], pair["b"], pair["n"]) == ("iba", "rag", 4)
    assert pair["difference"] == pytest.approx(-1 / 4)
    assert (pair["words"], pair["distinguishable"], pair["p"]) == ("simulated", None, None)


def test_people_who_graded_the_audit_slice_calibrate_the_machine():
    run = make_run()
    cast = make_cast()
    audited = Trajectory.objects.filter(unit__run=run, unit__method="iba").order_by("pk")[:2]
    Trajectory.objects.filter(pk__in=[t.pk for t in audited]).update(audit=True)
    for score in CheckpointScore.objects.filter(trajectory__in=[t.pk for t in audited]):
        for name in ("ann", "ben"):
            say(score, "human", name, "pass", cast[name])
    found = compute(run)["human_calibrated"]["iba"]
    assert (found["n_human"], found["n_ai"], found["estimate"]) == (2, 4, 1)
    assert found["low"] < 1


def test_an_unknown_view_is_refused():
    with pytest.raises(ValueError, match="view 'gods' is not known"):
        compute(make_run(), view="gods")


def test_independent_checkpoints_are_expected_by_action_kind_and_by_task():
    """Texts pass all, calls pass half of their task checkpoints: rates pooled over both would say something else."""
    run = make_run()
    calls = CheckpointScore.objects.filter(
        trajectory__unit__run=run, trajectory__unit__method="rag", checkpoint__task__scenario__action_kind="call_api"
    )
    tasks = calls.filter(checkpoint__kind="task").order_by("pk")
    half = list(tasks.values_list("pk", flat=True))[: tasks.count() // 2]
    CheckpointScore.objects.filter(pk__in=half).update(combined="fail")
    rate = 1 - len(half) / tasks.count()
    products = []
    for trajectory in Trajectory.objects.filter(unit__run=run, unit__method="rag"):
        is_call = trajectory.unit.task.scenario.action_kind == "call_api"
        of_task = trajectory.unit.task.checkpoints.filter(kind="task").count()
        products.append(rate**of_task if is_call else 1.0)
    cell = next(c for c in compute(run)["cells"] if c["method"] == "rag")
    assert cell["expected_if_independent"]["mean"] == pytest.approx(sum(products) / len(products), abs=1e-4)
    assert set(cell["by_action"]) == {"generate", "call_api"}
    assert cell["by_action"]["generate"]["task_success"]["mean"] == 1
    assert sum(part["planned"] for part in cell["by_action"].values()) == cell["planned"]
