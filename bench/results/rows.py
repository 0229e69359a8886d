"""One row a unit of a run with its three measures, under one of the three views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Count, Q

from agents.contract import ActionKind
from bench.models import CheckpointScore, Run, Unit, UnitStatus

METRICS = ("behaviour_accuracy", "preference_satisfaction", "task_success")
VIEWS = ("combined", "ai", "human")
SPLITS = ("dev", "test")
ACTIONS = tuple(sorted(kind.value for kind in ActionKind))  # calls and texts, in the order in which JSON is kept


class Outcomes(NamedTuple):
    """Checkpoints of one kind in one trajectory: all, those with a score, and those that passed."""

    total: int
    known: int
    passed: int


NO_CHECKPOINT = Outcomes(0, 0, 0)


@dataclass(frozen=True)
class Row:
    """One planned unit with its measures; None where unscored."""

    method: str
    task_id: int
    repeat: int
    persona_id: int
    domain: str
    split: str
    action: str  # generate or call_api
    status: str
    behaviour_accuracy: float | None
    preference_satisfaction: float | None
    task_success: float | None
    evidence_recall: float | None
    settled: float | None
    over_applied: int | None
    audit: bool
    llm_calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float
    wall_s: float
    tasks: Outcomes = NO_CHECKPOINT
    preferences: Outcomes = NO_CHECKPOINT

    @property
    def error(self) -> bool:
        return self.status == UnitStatus.FAILED

    @property
    def evaluated(self) -> bool:
        return self.task_success is not None


_ROW_FIELDS = (
    "pk",
    "method",
    "task_id",
    "repeat",
    "task__persona_id",
    "task__scenario__domain__slug",
    "task__persona__split",
    "task__scenario__action_kind",
    "status",
    "trajectory__pk",
    "trajectory__evidence_recall",
    "trajectory__settled",
    "trajectory__over_applied",
    "trajectory__audit",
    "trajectory__llm_calls",
    "trajectory__tokens_in",
    "trajectory__tokens_out",
    "trajectory__cost_usd",
    "trajectory__wall_s",
)


Both = tuple[Outcomes, Outcomes]  # task and preference checkpoints


def rows_by_view(run: Run) -> dict[str, list[Row]]:
    """View -> one row a unit of the run, in two queries for all views."""
    outcomes = _outcomes(run)
    found: dict[str, list[Row]] = {view: [] for view in VIEWS}
    for values in Unit.objects.filter(run=run).order_by("pk").values_list(*_ROW_FIELDS):
        _, method, task, repeat, persona, domain, split, action, status, trajectory, *read = values
        recall, settled, over, audit, *cost = read
        calls, tokens_in, tokens_out, cost_usd, wall_s = (value or 0 for value in cost)
        for view, (tasks, preferences) in zip(VIEWS, outcomes.get(trajectory, _UNSCORED), strict=True):
            found[view].append(
                Row(
                    method, task, repeat, persona, domain, split, action, status,
                    _share(tasks), _share(preferences), _all_passed(tasks, preferences),
                    recall, settled, over, bool(audit),
                    calls, tokens_in, tokens_out, cost_usd, wall_s, tasks, preferences,
                )
            )  # fmt: skip
    return found


_UNSCORED: tuple[Both, ...] = ((NO_CHECKPOINT, NO_CHECKPOINT),) * len(VIEWS)


def _outcomes(run: Run) -> dict[int, tuple[Both, ...]]:
    """Trajectory -> what became of its checkpoints under each view, in the order of VIEWS."""
    kinds = {"task": Q(checkpoint__kind="task"), "preference": Q(checkpoint__kind="preference")}
    counts: dict[str, Count] = {}
    for kind, of_kind in kinds.items():
        counts[kind] = Count("pk", filter=of_kind)
        for view in VIEWS:
            counts[f"{kind}_{view}_known"] = Count("pk", filter=of_kind & Q(**{f"{view}__in": ["pass", "fail"]}))
            counts[f"{kind}_{view}_passed"] = Count("pk", filter=of_kind & Q(**{view: "pass"}))
    scores = CheckpointScore.objects.filter(trajectory__unit__run=run).order_by()
    found = {}
    for trajectory, *numbers in scores.values_list("trajectory_id").annotate(**counts):
        half = len(numbers) // 2
        found[trajectory] = tuple(zip(_of_kind(numbers[:half]), _of_kind(numbers[half:]), strict=True))
    return found


def _of_kind(numbers: Sequence[int]) -> list[Outcomes]:
    total, *by_view = numbers
    return [Outcomes(total, known, passed) for known, passed in zip(by_view[::2], by_view[1::2], strict=True)]


def _share(of: Outcomes) -> float | None:
    return of.passed / of.total if of.total and of.known == of.total else None


def _all_passed(tasks: Outcomes, preferences: Outcomes) -> float | None:
    total, known, passed = (sum(both) for both in zip(tasks, preferences, strict=True))
    return float(passed == total) if total and known == total else None
