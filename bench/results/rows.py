"""One row a unit of a run with its three measures, under one of the three views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Q

from bench.models import CheckpointScore, Run, Unit, UnitStatus

METRICS = ("behaviour_accuracy", "preference_satisfaction", "task_success")
VIEWS = ("combined", "ai", "human")
SPLITS = ("dev", "test")


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
    over_applied: int | None
    audit: bool
    llm_calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float
    wall_s: float

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
    "trajectory__over_applied",
    "trajectory__audit",
    "trajectory__llm_calls",
    "trajectory__tokens_in",
    "trajectory__tokens_out",
    "trajectory__cost_usd",
    "trajectory__wall_s",
)


Measures = tuple[float | None, float | None, float | None]  # in the order of METRICS


def rows_by_view(run: Run) -> dict[str, list[Row]]:
    """View -> one row a unit of the run, in two queries for all views."""
    measures = _measures(run)
    found: dict[str, list[Row]] = {view: [] for view in VIEWS}
    for values in Unit.objects.filter(run=run).order_by("pk").values_list(*_ROW_FIELDS):
        _, method, task, repeat, persona, domain, split, action, status, trajectory, recall, over, audit, *cost = values
        calls, tokens_in, tokens_out, cost_usd, wall_s = (value or 0 for value in cost)
        for view, (behaviour, preference, success) in zip(VIEWS, measures.get(trajectory, _UNSCORED), strict=True):
            found[view].append(
                Row(
                    method, task, repeat, persona, domain, split, action, status, behaviour, preference, success,
                    recall, over, bool(audit), calls, tokens_in, tokens_out, cost_usd, wall_s,
                )
            )  # fmt: skip
    return found


_UNSCORED: tuple[Measures, ...] = ((None, None, None),) * len(VIEWS)


def _measures(run: Run) -> dict[int, tuple[Measures, ...]]:
    """Trajectory -> its measures under each view, in the order of VIEWS."""
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
        found[trajectory] = tuple(
            _three(numbers[0], *task, numbers[half], *preference)
            for task, preference in zip(_twos(numbers[1:half]), _twos(numbers[half + 1 :]), strict=True)
        )
    return found


def _twos(numbers: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _three(tasks: int, t_known: int, t_passed: int, preferences: int, p_known: int, p_passed: int) -> Measures:
    return (
        _share(tasks, t_known, t_passed),
        _share(preferences, p_known, p_passed),
        _all_passed(tasks + preferences, t_known + p_known, t_passed + p_passed),
    )


def _share(count: int, known: int, passed: int) -> float | None:
    return passed / count if count and known == count else None


def _all_passed(count: int, known: int, passed: int) -> float | None:
    return float(passed == count) if count and known == count else None
