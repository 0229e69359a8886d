"""Each class of the gap comes out of the database: a trajectory planted there, graded, scored and drilled down to."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agents.contract import Constraint, ConstraintStatus, Evidence, Step, Termination
from agents.contract import Trajectory as Recorder
from agents.contract.serialise import from_json, to_json
from bench.grading.gap import GapStage
from bench.grading.store import gold_measures, score_trajectories
from bench.models import CheckpointScore, Event, EventLabel, Run, Trajectory
from bench.results.report import results_of
from tests.annotation.factories import PANEL, grade, judge, make_cast, make_run

pytestmark = pytest.mark.django_db

DAY = datetime(2025, 3, 11, tzinfo=UTC)
STEPS = tuple(Step(stage, "code", stage) for stage in ("retrieve", "think", "align", "plan", "act"))


def preference(run: Run) -> CheckpointScore:
    """The preference of the first text of iba: soft food, shown by two events."""
    scores = CheckpointScore.objects.filter(trajectory__unit__run=run, trajectory__unit__method="iba")
    return scores.filter(checkpoint__kind="preference", checkpoint__rule__isnull=True).order_by("pk").first()


def distractor(persona_id: int) -> str:
    event = Event.objects.create(
        persona_id=persona_id, position=9, occurred_at=DAY, channel="note", text="Ana wants crackling.", text_sha256="x"
    )
    EventLabel.objects.create(event=event, role="distractor", dimension="dining.texture", value="crunchy")
    return str(event.pk)


def drawn(value: str, *, cites: str, status: ConstraintStatus = ConstraintStatus.ACTIVE) -> Constraint:
    return Constraint("c1", dimension="dining.texture", value=value, text=value, evidence=(cites,), status=status)


def plant(score: CheckpointScore, **course) -> Recorder:
    """Replace the trajectory's course by one with these parts, and have all judges fail the preference."""
    stored = Trajectory.objects.get(pk=score.trajectory_id)
    action = from_json(stored.data).action
    planted = Recorder(Termination.COMPLETED, **{"steps": STEPS, "action": action, **course})
    Trajectory.objects.filter(pk=stored.pk).update(data=to_json(planted))
    judge(stored, dict.fromkeys(PANEL, "fail"), position=score.checkpoint.position)
    return planted


def seen(*event_ids: str) -> tuple[Evidence, ...]:
    return tuple(Evidence(event_id, DAY, "note", "text") for event_id in event_ids)


def lost_at(score: CheckpointScore) -> str:
    score.refresh_from_db()
    return score.gap


def course_of(stage: str, cue: str, misleading: str) -> dict:
    """The parts of a course that ends at the stage."""
    soft, crunchy = drawn("soft", cites=cue), drawn("crunchy", cites=cue)
    return {
        "not_retrieved": {"evidence": ()},
        "no_constraint": {"evidence": seen(cue)},
        "resolved_wrongly": {"evidence": seen(cue), "constraints": (crunchy,), "plan": ("c1",)},
        "not_in_plan": {"evidence": seen(cue), "constraints": (soft,)},
        "not_in_action": {"evidence": seen(cue), "constraints": (soft,), "plan": ("c1",)},
        "not_acted": {"evidence": seen(cue), "steps": ()},
        "over_applied": {
            "evidence": seen(cue, misleading),
            "constraints": (drawn("crunchy", cites=misleading),),
            "plan": ("c1",),
        },
    }[stage]


@pytest.mark.parametrize(
    "stage",
    ["not_retrieved", "no_constraint", "resolved_wrongly", "not_in_plan", "not_in_action", "not_acted", "over_applied"],
)
def test_a_planted_loss_is_found_counted_and_reached_from_the_list(stage, client):
    run = make_run()
    score = preference(run)
    cue = str(score.checkpoint.evidence.first().pk)
    plant(score, **course_of(stage, cue, distractor(score.trajectory.unit.task.persona_id)))
    assert lost_at(score) == stage
    lost = [row for row in results_of(Run.objects.get(pk=run.pk))["losses"] if row["gap"]]
    assert [(row["method"], row["gap"], row["combined"], row["count"]) for row in lost] == [("iba", stage, "fail", 1)]
    client.force_login(make_cast()["vera"])
    page = client.get("/trajectories/", {"run": run.pk, "method": "iba", "gap": stage})
    assert [found.pk for found in page.context["page_obj"]] == [score.trajectory_id]


@pytest.mark.parametrize(
    ("conflict", "stage"),
    [
        ("expired", "over_applied"),
        ("conditional", "over_applied"),
        ("drift", "resolved_wrongly"),
        ("override", "resolved_wrongly"),
    ],
)
def test_a_losing_value_is_over_applied_where_its_state_is_over_or_its_condition_is_not_met(conflict, stage):
    score = preference(make_run())
    checkpoint = score.checkpoint
    checkpoint.conflict, checkpoint.losing_values = conflict, ["crunchy"]
    checkpoint.save()
    cue = str(checkpoint.evidence.first().pk)
    plant(score, evidence=seen(cue), constraints=(drawn("crunchy", cites=cue),), plan=("c1",))
    assert lost_at(score) == stage


def test_people_who_pass_what_the_judges_failed_make_it_judged_wrong():
    score = preference(make_run())
    plant(score, evidence=())
    cast = make_cast()
    for name in ("ann", "ben"):
        grade(score.trajectory, cast[name], {score.checkpoint.position: "pass"})
    assert lost_at(score) == GapStage.JUDGED_WRONG


def test_a_constraint_from_a_distractor_counts_as_over_applied_where_no_checkpoint_asks():
    score = preference(make_run())
    task = score.trajectory.unit.task
    misleading = distractor(task.persona_id)
    elsewhere = Constraint(
        "c1", dimension="travel.seat", value="aisle", text="aisle", evidence=(misleading,),
        status=ConstraintStatus.ACTIVE,
    )  # fmt: skip
    course = plant(score, evidence=seen(misleading), constraints=(elsewhere,), plan=("c1",))
    assert gold_measures(task.pk, course)[1] == 1
    cited = plant(score, evidence=seen(misleading), constraints=(drawn("soft", cites="gold"),), plan=("c1",))
    assert gold_measures(task.pk, cited)[1] == 0


def test_scoring_many_trajectories_at_once_loses_the_same_as_one_by_one():
    run = make_run(personas=3)
    for score in CheckpointScore.objects.filter(trajectory__unit__method="iba", checkpoint__rule__isnull=True):
        judge(score.trajectory, dict.fromkeys(PANEL, "fail"), position=score.checkpoint.position)
    one_by_one = list(CheckpointScore.objects.order_by("pk").values())
    score_trajectories(run.units.values_list("trajectory__pk", flat=True))
    assert list(CheckpointScore.objects.order_by("pk").values()) == one_by_one
