"""One trajectory with everything that explains its score, and lists of trajectories to drill down into."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q, QuerySet

from agents.contract import Action, ActionKind, Constraint, ConstraintStatus, Evidence, Part
from agents.contract import Trajectory as Course
from agents.toolkit.sentences import sentences
from bench.models import Checkpoint, CheckpointScore, Event, Trajectory, Verdict


@dataclass(frozen=True)
class Graded:
    """One checkpoint with its combined score and the latest verdict of each source."""

    checkpoint: Checkpoint
    score: CheckpointScore | None
    verdicts: list[Verdict]
    evidence: list[Event]


@dataclass(frozen=True)
class Because:
    """One part of the action: the constraints behind it with the events that they cite."""

    part: Part
    name: str
    value: str
    reasons: list[tuple[Constraint, list[Evidence]]]
    asks: bool = False  # left empty; the agent would ask


def graded(trajectory: Trajectory) -> list[Graded]:
    """The task's checkpoints in order. Four queries."""
    scores = {score.checkpoint_id: score for score in trajectory.scores.all()}
    latest: dict[tuple[int, str, str], Verdict] = {}
    for verdict in trajectory.verdicts.all():  # by id, so a later one replaces an earlier
        latest[(verdict.checkpoint_id, verdict.source, verdict.name)] = verdict
    by_checkpoint: dict[int, list[Verdict]] = defaultdict(list)
    for (checkpoint_id, _, _), verdict in latest.items():
        by_checkpoint[checkpoint_id].append(verdict)
    return [
        Graded(c, scores.get(c.pk), _in_order(by_checkpoint[c.pk]), sorted(c.evidence.all(), key=lambda e: e.position))
        for c in trajectory.unit.task.checkpoints.prefetch_related("evidence")
    ]


def _in_order(verdicts: Sequence[Verdict]) -> list[Verdict]:
    order = ("rule", "judge", "human", "adjudication")
    return sorted(verdicts, key=lambda v: (order.index(v.source), v.name))


def because(course: Course) -> list[Because]:
    """Each argument or sentence of the action with what it follows from; parts without a link have no reasons."""
    if course.action is None:
        return []
    constraints = {c.constraint_id: c for c in course.constraints}
    events = {e.event_id: e for e in course.evidence}
    reasons: dict[Part, list[tuple[Constraint, list[Evidence]]]] = defaultdict(list)
    for link in course.links:
        if link.constraint_id in constraints:
            cited = [events[i] for i in link.evidence if i in events]
            reasons[link.part].append((constraints[link.constraint_id], cited))
    asks = set(course.action.would_ask)
    parts = [
        Because(part, name, value, reasons.pop(part, []), name in asks) for part, name, value in _parts(course.action)
    ]
    return [*parts, *(Because(part, part.key, "", found) for part, found in reasons.items())]


def with_events(course: Course, *, active: bool) -> list[tuple[Constraint, list[Evidence]]]:
    """Constraints that hold (or the others), each with the events that it cites and the agent saw."""
    events = {e.event_id: e for e in course.evidence}
    chosen = [c for c in course.constraints if (c.status is ConstraintStatus.ACTIVE) == active]
    return [(c, [events[i] for i in c.evidence if i in events]) for c in chosen]


def _parts(action: Action) -> list[tuple[Part, str, str]]:
    if action.kind is ActionKind.CALL_API:
        return [(Part.argument(name), name, _value(value)) for name, value in action.arguments.items()]
    return [(Part.sentence(number), str(number), text) for number, text in enumerate(sentences(action.text), 1)]


def _value(value: Any) -> str:
    return "null" if value is None else ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def neighbours(trajectory: Trajectory) -> tuple[int | None, int | None]:
    """Ids of the failed trajectories before and after this one, of the same run and method. Two queries."""
    failed = Trajectory.objects.filter(
        unit__run_id=trajectory.unit.run_id, unit__method=trajectory.unit.method, scores__combined="fail"
    ).values_list("pk", flat=True)
    before = failed.filter(pk__lt=trajectory.pk).order_by("-pk").first()
    after = failed.filter(pk__gt=trajectory.pk).order_by("pk").first()
    return before, after


def siblings(trajectory: Trajectory) -> list[Trajectory]:
    """What the other methods of the run did with the same task."""
    unit = trajectory.unit
    same = Trajectory.objects.filter(unit__run_id=unit.run_id, unit__task_id=unit.task_id, unit__repeat=unit.repeat)
    return list(with_counts(same.select_related("unit")).order_by("unit_id"))


def with_counts(trajectories: QuerySet[Trajectory]) -> QuerySet[Trajectory]:
    """Adds ``passed``, ``failed`` and ``wanted`` checkpoints."""
    return trajectories.annotate(
        wanted=Count("scores"),
        passed=Count("scores", filter=Q(scores__combined="pass")),
        failed=Count("scores", filter=Q(scores__combined="fail")),
    )


FILTERS: Mapping[str, str] = {
    "run": "unit__run_id",
    "method": "unit__method",
    "domain": "unit__task__scenario__domain__slug",
    "scenario": "unit__task__scenario__slug",
    "persona": "unit__task__persona__slug",
    "split": "unit__task__persona__split",
    "action": "unit__task__scenario__action_kind",
}


def matching(asked: Mapping[str, str]) -> QuerySet[Trajectory]:
    """Trajectories by FILTERS, outcome, lost stage, conflict, tier and dimension.

    ``over``: only those that acted on a constraint which should not hold, whether or not a checkpoint failed.
    """
    found = Trajectory.objects.select_related(
        "unit__task__scenario__domain", "unit__task__persona", "unit__run__dataset"
    )
    for name, look_up in FILTERS.items():
        if asked.get(name):
            found = found.filter(**{look_up: asked[name]})
    if asked.get("over"):
        found = found.filter(over_applied__gt=0)
    score: dict[str, Any] = {}
    if asked.get("gap"):
        score["gap__in"] = asked["gap"].split(",")
    if asked.get("conflict"):
        score["checkpoint__conflict"] = "" if asked["conflict"] == "none" else asked["conflict"]
    if asked.get("tier"):
        score["checkpoint__tier"] = asked["tier"]
    if asked.get("dimension"):
        score["checkpoint__dimension"] = asked["dimension"]
    if score:
        found = found.filter(pk__in=CheckpointScore.objects.filter(**score).values("trajectory_id"))
    found = with_counts(found.defer("data", "unit__task__world", "unit__task__tools", "unit__run__manifest"))
    failed = CheckpointScore.objects.filter(combined="fail").values("trajectory_id")
    if asked.get("outcome") == "fail":
        found = found.filter(pk__in=failed)
    elif asked.get("outcome") == "pass":
        found = found.filter(scores__combined="pass").exclude(pk__in=failed)
    return found.order_by("-pk")
