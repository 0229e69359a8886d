"""Each class of the gap comes out of the database: a trajectory planted there, graded, scored and drilled down to."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agents.contract import Constraint, ConstraintStatus, Evidence, Stage, Step, StepKind, Termination
from agents.contract import Trajectory as Recorder
from agents.contract.serialise import from_json, to_json
from bench.grading.gap import GapStage
from bench.grading.gold import gold_measures
from bench.grading.store import score_trajectories
from bench.models import CheckpointScore, Event, EventLabel, Run, Trajectory
from bench.results.report import results_of
from tests.annotation.factories import PANEL, grade, judge, make_cast, make_run

pytestmark = pytest.mark.django_db

DAY = datetime(2025, 3, 11, tzinfo=UTC)
STEPS = tuple(
    Step(stage, StepKind.CODE, stage) for stage in (Stage.RETRIEVE, Stage.THINK, Stage.ALIGN, Stage.PLAN, Stage.ACT)
)


def preference(run: Run) -> CheckpointScore:
    """The preference of the first text of iba: soft food, shown by two events."""
    scores = CheckpointScore.objects.filter(trajectory__unit__run=run, trajectory__unit__method="iba")
    return scores.filter(checkpoint__kind="preference", checkpoint__rule__isnull=True).order_by("pk").first()


def event_of(persona_id: int, role: str, value: str = "crunchy") -> str:
    """A further event of the persona that is labelled like that; its id."""
    event = Event.objects.create(
        persona_id=persona_id, position=Event.objects.count() + 90, occurred_at=DAY, channel="note",
        text=f"Crackling, {role}.", text_sha256=role,
    )  # fmt: skip
    of_state = role.startswith("state")
    dimension = "" if of_state else "dining.texture"
    EventLabel.objects.create(event=event, role=role, dimension=dimension, value="" if of_state else value)
    return str(event.pk)


def drawn(*cites: str, status: ConstraintStatus = ConstraintStatus.ACTIVE) -> Constraint:
    return Constraint("c1", "food", "in their own words", "Some food.", evidence=cites, status=status)


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
    planned = {"constraints": (drawn(cue),), "plan": ("c1",)}
    return {
        "not_retrieved": {"evidence": ()},
        "no_constraint": {"evidence": seen(cue)},
        "resolved_wrongly": {"evidence": seen(cue), "constraints": (drawn(cue, status=ConstraintStatus.EXPIRED),)},
        "not_in_plan": {"evidence": seen(cue), "constraints": (drawn(cue),)},
        "not_in_action": {"evidence": seen(cue), **planned},
        "not_acted": {"evidence": seen(cue), "steps": ()},
        "over_applied": {
            "evidence": seen(cue, misleading), "constraints": (drawn(misleading),), "plan": ("c1",)
        },
    }[stage]  # fmt: skip


@pytest.mark.parametrize(
    "stage",
    ["not_retrieved", "no_constraint", "resolved_wrongly", "not_in_plan", "not_in_action", "not_acted", "over_applied"],
)
def test_a_planted_loss_is_found_counted_and_reached_from_the_list(stage, client):
    run = make_run()
    score = preference(run)
    cue = str(score.checkpoint.evidence.first().pk)
    plant(score, **course_of(stage, cue, event_of(score.trajectory.unit.task.persona_id, "distractor")))
    assert lost_at(score) == stage
    lost = [row for row in results_of(Run.objects.get(pk=run.pk))["losses"] if row["gap"]]
    assert [(row["method"], row["gap"], row["combined"], row["count"]) for row in lost] == [("iba", stage, "fail", 1)]
    client.force_login(make_cast()["vera"])
    page = client.get("/trajectories/", {"run": run.pk, "method": "iba", "gap": stage})
    assert [found.pk for found in page.context["page_obj"]] == [score.trajectory_id]


@pytest.mark.parametrize(
    ("conflict", "role", "stage"),
    [
        ("expired", "state_start", "over_applied"),
        ("conditional", "condition", "over_applied"),
        ("drift", "cue", "resolved_wrongly"),
        ("override", "cue", "resolved_wrongly"),
    ],
)
def test_a_losing_value_is_over_applied_where_its_state_is_over_or_its_condition_is_not_met(conflict, role, stage):
    score = preference(make_run())
    checkpoint = score.checkpoint
    checkpoint.conflict, checkpoint.losing_values = conflict, ["crunchy"]
    checkpoint.save()
    cue = str(checkpoint.evidence.first().pk)
    losing = event_of(score.trajectory.unit.task.persona_id, role)
    plant(score, evidence=seen(cue, losing), constraints=(drawn(losing),), plan=("c1",))
    assert lost_at(score) == stage


def test_people_who_pass_what_the_judges_failed_make_it_judged_wrong():
    score = preference(make_run())
    plant(score, evidence=())
    cast = make_cast()
    for name in ("ann", "ben"):
        grade(score.trajectory, cast[name], {score.checkpoint.position: "pass"})
    assert lost_at(score) == GapStage.JUDGED_WRONG


def test_constraints_from_distractors_and_from_what_does_not_hold_count_as_over_applied():
    score = preference(make_run())
    score.checkpoint.losing_values = ["crunchy"]
    score.checkpoint.save()
    task = score.trajectory.unit.task
    cue = str(score.checkpoint.evidence.first().pk)
    misleading, old = (event_of(task.persona_id, role) for role in ("distractor", "cue"))
    for cited, count in (((misleading,), 1), ((old,), 1), ((cue,), 0), ((old, cue), 0)):
        course = plant(score, evidence=seen(*cited), constraints=(drawn(*cited),), plan=("c1",))
        assert gold_measures(task.pk, course)[1] == count


def test_scoring_many_trajectories_at_once_loses_the_same_as_one_by_one():
    run = make_run(personas=3)
    for score in CheckpointScore.objects.filter(trajectory__unit__method="iba", checkpoint__rule__isnull=True):
        judge(score.trajectory, dict.fromkeys(PANEL, "fail"), position=score.checkpoint.position)
    one_by_one = list(CheckpointScore.objects.order_by("pk").values())
    score_trajectories(run.units.values_list("trajectory__pk", flat=True))
    assert list(CheckpointScore.objects.order_by("pk").values()) == one_by_one
