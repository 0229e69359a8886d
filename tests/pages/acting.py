"""Plays an agent for page tests: a course whose preference checkpoints are lost at the stages that a test names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from agents.contract import (
    Action,
    ActionKind,
    Constraint,
    ConstraintStatus,
    Evidence,
    Link,
    Part,
    Stage,
    Step,
    StepKind,
    Termination,
    Usage,
)
from agents.contract import Trajectory as Recorder
from agents.contract.serialise import to_json
from bench.grading.store import append_verdicts, rubric_version, score_trajectories
from bench.models import Checkpoint, Event, Trajectory, Unit, UnitStatus, Verdict

PASS = ""


def act_out(
    unit: Unit,
    lost: Mapping[int, str] | None = None,
    *,
    text: str = "Table for two at Ash & Vine. It is quiet. The soup needs no chewing.",
    arguments: Mapping[str, object] | None = None,
    failed_task: bool = False,
    rationale: str = "Read against the gold events.",
) -> Trajectory:
    """Store a scored trajectory. ``lost``: position of a preference checkpoint -> gap stage that loses it."""
    lost = lost or {}
    checkpoints = list(unit.task.checkpoints.prefetch_related("evidence"))
    course = _course(unit, checkpoints, lost, text, arguments)
    trajectory = Trajectory.objects.create(
        unit=unit,
        termination=course.termination.value,
        data=to_json(course),
        evidence_recall=0.5,
        llm_calls=4,
        tokens_in=1800,
        tokens_out=240,
        cost_usd=0.004,
        wall_s=3.2,
    )
    for checkpoint in checkpoints:
        fails = checkpoint.position in lost or (checkpoint.kind == "task" and failed_task)
        grade(trajectory, checkpoint, "fail" if fails else "pass", rationale)
    score_trajectories([trajectory.pk])
    Unit.objects.filter(pk=unit.pk).update(status=UnitStatus.SCORED, finished_at=datetime.now(UTC))
    return trajectory


def grade(trajectory: Trajectory, checkpoint: Checkpoint, value: str, rationale: str) -> None:
    """A rule's verdict where there is a rule, else those of three judges that agree."""
    panel = trajectory.unit.run.manifest["policy"]["panel"]
    sources = [("rule", "rules")] if checkpoint.rule else [("judge", name) for name in panel]
    append_verdicts(
        [
            Verdict(
                trajectory=trajectory, checkpoint=checkpoint, rubric_version=rubric_version(),
                source=source, name=name, value=value, rationale=rationale,
            )
            for source, name in sources
        ]
    )  # fmt: skip


def _course(
    unit: Unit,
    checkpoints: Sequence[Checkpoint],
    lost: Mapping[int, str],
    text: str,
    arguments: Mapping[str, object] | None,
) -> Recorder:
    events: dict[str, Event] = {}
    constraints: list[Constraint] = []
    plan: list[str] = []
    for checkpoint in checkpoints:
        stage = lost.get(checkpoint.position, PASS)
        if checkpoint.kind != "preference" or stage == "not_retrieved":
            continue
        gold = list(checkpoint.evidence.all())
        events |= {str(event.pk): event for event in gold}
        if stage in ("no_constraint", "not_acted"):
            continue
        constraint = _constraint(checkpoint, gold, wrong=stage == "resolved_wrongly")
        constraints.append(constraint)
        if stage != "not_in_plan" and stage != "resolved_wrongly":
            plan.append(constraint.constraint_id)
    keeps_constraints = "not_acted" not in lost.values() and unit.method.startswith("iba")
    whole = (Stage.RETRIEVE, Stage.THINK, Stage.ALIGN, Stage.PLAN, Stage.ACT)
    stages = whole if keeps_constraints else (Stage.RETRIEVE, Stage.ACT)
    calls = unit.task.scenario.action_kind == "call_api"
    first = next(iter(arguments or {"party": 2})) if calls else "2"
    part = Part.argument(first) if calls else Part.sentence(2)
    return Recorder(
        termination=Termination.COMPLETED,
        steps=tuple(Step(stage, StepKind.CODE, f"Did the {stage} stage.", {"stage": stage}) for stage in stages),
        evidence=tuple(Evidence(key, e.occurred_at, e.channel, e.text) for key, e in events.items()),
        constraints=tuple(constraints) if keeps_constraints else (),
        plan=tuple(plan) if keeps_constraints else (),
        action=_action(unit, text, arguments),
        links=tuple(Link(part, c.constraint_id, c.evidence) for c in constraints[:2]) if keeps_constraints else (),
        usage=Usage(4, 1800, 240, 0.004),
    )


def _constraint(checkpoint: Checkpoint, gold: Sequence[Event], *, wrong: bool) -> Constraint:
    return Constraint(
        constraint_id=f"c{checkpoint.position}",
        about=checkpoint.dimension.partition(".")[2].replace("_", " "),
        value=checkpoint.value,
        text=f"Shows {checkpoint.value} in {checkpoint.dimension}.",
        evidence=tuple(str(event.pk) for event in gold),
        status=ConstraintStatus.SUPERSEDED if wrong else ConstraintStatus.ACTIVE,
        reason="Something newer replaced it." if wrong else "",
    )


def _action(unit: Unit, text: str, arguments: Mapping[str, object] | None) -> Action:
    if unit.task.scenario.action_kind == "generate":
        return Action(ActionKind.GENERATE, text=text)
    tool = unit.task.tools[-1]["name"] if unit.task.tools else "book_table"
    return Action(ActionKind.CALL_API, tool=tool, arguments=dict(arguments or {"party": 2}))
