"""One row a unit of a run with its three measures, under one of the three views."""

from __future__ import annotations

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


def unit_rows(run: Run, view: str = "combined") -> list[Row]:
    """One row a unit of the run, in two queries."""
    if view not in VIEWS:
        raise ValueError(f"view {view!r} is not known; allowed: {', '.join(VIEWS)}")
    measures = _measures(run, view)
    rows = []
    for values in Unit.objects.filter(run=run).order_by("pk").values_list(*_ROW_FIELDS):
        _, method, task, repeat, persona, domain, split, status, trajectory, recall, over, audit, *cost = values
        behaviour, preference, success = measures.get(trajectory, (None, None, None))
        calls, tokens_in, tokens_out, cost_usd, wall_s = (value or 0 for value in cost)
        rows.append(
            Row(
                method, task, repeat, persona, domain, split, status, behaviour, preference, success,
                recall, over, bool(audit), calls, tokens_in, tokens_out, cost_usd, wall_s,
            )
        )  # fmt: skip
    return rows


def _measures(run: Run, view: str) -> dict[int, tuple[float | None, float | None, float | None]]:
    """Behaviour accuracy, preference satisfaction and task success of each trajectory."""
    passed, known = Q(**{view: "pass"}), Q(**{f"{view}__in": ["pass", "fail"]})
    task, preference = Q(checkpoint__kind="task"), Q(checkpoint__kind="preference")
    counted = (
        CheckpointScore.objects.filter(trajectory__unit__run=run)
        .order_by()
        .values_list("trajectory_id")
        .annotate(
            task=Count("pk", filter=task),
            task_known=Count("pk", filter=task & known),
            task_passed=Count("pk", filter=task & passed),
            pref=Count("pk", filter=preference),
            pref_known=Count("pk", filter=preference & known),
            pref_passed=Count("pk", filter=preference & passed),
        )
    )
    return {
        trajectory: (
            _share(t, t_known, t_passed),
            _share(p, p_known, p_passed),
            _all_passed(t + p, t_known + p_known, t_passed + p_passed),
        )
        for trajectory, t, t_known, t_passed, p, p_known, p_passed in counted
    }


def _share(count: int, known: int, passed: int) -> float | None:
    return passed / count if count and known == count else None


def _all_passed(count: int, known: int, passed: int) -> float | None:
    return float(passed == count) if count and known == count else None
