"""What a run amounts to: one cell a method, paired differences, and where the gap opens."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from django.db.models import Count, Q

from agents.registry import resolve
from bench.models import CheckpointScore, Run, Unit, UnitStatus
from bench.scoring.intervals import clustered_mean, holm, paired_difference
from bench.scoring.measures import Coverage, product_of_rates
from bench.scoring.ppi import mean_interval
from bench.scoring.repeats import over_tasks

METRICS = ("behaviour_accuracy", "preference_satisfaction", "task_success")
VIEWS = ("combined", "ai", "human")


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


def results_of(run: Run) -> dict[str, Any]:
    """``{"cells": [CELL], "paired": [PAIR]}`` from the combined scores; kept with the run until a verdict changes."""
    if run.results is None:
        computed = compute(run)
        Run.objects.filter(pk=run.pk).update(results=computed)
        run.results = computed
    return dict(run.results)


def compute(run: Run, view: str = "combined", split: str = "") -> dict[str, Any]:
    """Cells and pairs anew. ``view``: combined, ai or human. ``split``: dev, test or "" for both."""
    rows = [row for row in unit_rows(run, view) if not split or row.split == split]
    methods = [method for method in run.manifest["methods"] if any(row.method == method for row in rows)]
    by_method = {method: [row for row in rows if row.method == method] for method in methods}
    rates = _pass_rates(run, view)
    return {
        "view": view,
        "split": split,
        "human_calibrated": human_calibrated(run),
        "cells": [_cell(run, method, by_method[method], rates.get(method, {})) for method in methods],
        "paired": _pairs(by_method),
    }


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


def human_calibrated(run: Run) -> dict[str, dict[str, Any]]:
    """Method -> task success as humans would grade it, by PPI++ from the random audit slice.

    Only trajectories of the audit slice that raters decided count as the human sample; escalated ones do not,
    since they are no random sample. A method without such a trajectory is left out. Each entry is
    ``{"estimate", "low", "high", "n_human", "n_ai"}``.
    """
    human = {(r.method, r.task_id, r.repeat): r.task_success for r in unit_rows(run, "human") if r.audit}
    machine: dict[str, list[Row]] = defaultdict(list)
    for row in unit_rows(run, "ai"):
        if row.task_success is not None:
            machine[row.method].append(row)
    found = {}
    for method, rows in machine.items():
        graded = [(human.get((method, r.task_id, r.repeat)), r.task_success) for r in rows]
        sample = [(y, f) for y, f in graded if y is not None and f is not None]
        rest = [f for y, f in graded if y is None and f is not None]
        if sample:
            estimate, low, high = mean_interval([y for y, _ in sample], [f for _, f in sample], rest)
            found[method] = {"estimate": estimate, "low": low, "high": high, "n_human": len(sample), "n_ai": len(rows)}
    return found


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


def _pass_rates(run: Run, view: str) -> dict[str, dict[str, float]]:
    """Method -> checkpoint kind -> pass rate over scored checkpoints, for all-pass against the product."""
    rows = (
        CheckpointScore.objects.filter(trajectory__unit__run=run, **{f"{view}__in": ["pass", "fail"]})
        .order_by()
        .values_list("trajectory__unit__method", "checkpoint__kind")
        .annotate(n=Count("pk"), passed=Count("pk", filter=Q(**{view: "pass"})))
    )
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for method, kind, n, passed in rows:
        found[method][kind] = passed / n
    return found


def _cell(run: Run, method: str, rows: Sequence[Row], rates: dict[str, float]) -> dict[str, Any]:
    spec = resolve(method)
    evaluated = [row for row in rows if row.evaluated]
    coverage = Coverage(len(rows), len(evaluated))
    per_task = _checkpoints_per_task(run)
    return {
        "method": method,
        "label": spec.label,
        "model": run.model,
        "ablation": spec.ablation or None,
        "uses_gold": spec.uses_gold,
        "simulated": run.simulated,
        "planned": len(rows),
        "evaluated": len(evaluated),
        "errors": sum(row.error for row in rows),
        "unscored": sum(not row.evaluated and not row.error for row in rows),
        "headline": coverage.headline,
        **_metrics(rows),
        "by_domain": {
            domain: _metrics([row for row in rows if row.domain == domain])
            for domain in dict.fromkeys(row.domain for row in sorted(rows, key=lambda row: row.domain))
        },
        "repeats": _repeats(rows, int(run.manifest["repeats"])),
        "over_applied_per_task": _mean([row.over_applied for row in rows]),
        "expected_if_independent": round(_expected(rates, per_task), 4) if rates else None,
        "evidence_recall": _mean([row.evidence_recall for row in rows]),
        "llm_calls": sum(row.llm_calls for row in rows),
        "tokens_in": sum(row.tokens_in for row in rows),
        "tokens_out": sum(row.tokens_out for row in rows),
        "cost_usd": round(sum(row.cost_usd for row in rows), 6),
        "wall_s": round(sum(row.wall_s for row in rows), 3),
    }


def _metrics(rows: Sequence[Row]) -> dict[str, Any]:
    personas = [row.persona_id for row in rows]
    return {metric: clustered_mean([getattr(row, metric) for row in rows], personas).to_json() for metric in METRICS}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 4) if known else None


def _repeats(rows: Sequence[Row], k: int) -> dict[str, Any] | None:
    """mean@k, pass@k and pass^k of task success over the run's k repeats; None where a task ran once."""
    if k < 2:
        return None
    trials: dict[int, list[bool | None]] = defaultdict(list)
    for row in rows:
        trials[row.task_id].append(None if row.task_success is None else row.task_success == 1)
    return asdict(over_tasks(list(trials.values()), k))


def _checkpoints_per_task(run: Run) -> dict[str, float]:
    """Mean number of checkpoints of a task by kind."""
    rows = (
        Unit.objects.filter(run=run)
        .order_by()
        .values_list("task__checkpoints__kind")
        .annotate(checkpoints=Count("task__checkpoints", distinct=True), tasks=Count("task", distinct=True))
    )
    return {kind: checkpoints / tasks for kind, checkpoints, tasks in rows if kind}


def _expected(rates: dict[str, float], per_task: dict[str, float]) -> float:
    """Task success if the checkpoints of a task failed independently of one another, 0..1."""
    return product_of_rates(rate ** per_task.get(kind, 0) for kind, rate in rates.items())


def _pairs(by_method: dict[str, list[Row]]) -> list[dict[str, Any]]:
    """Every two methods on the units that both have, with Holm's adjustment over all of one metric."""
    pairs = []
    for metric in METRICS:
        found = []
        for a, b in combinations(by_method, 2):
            found.append(_pair(a, b, metric, by_method[a], by_method[b]))
        known = [pair for pair in found if pair["p"] is not None]
        for pair, adjusted in zip(known, holm([pair["p"] for pair in known]), strict=True):
            pair["p_holm"] = round(adjusted, 5)
        pairs += found
    return pairs


def _pair(a: str, b: str, metric: str, rows_a: Sequence[Row], rows_b: Sequence[Row]) -> dict[str, Any]:
    other = {(row.task_id, row.repeat): row for row in rows_b}
    both = [(row, other[key]) for row in rows_a if (key := (row.task_id, row.repeat)) in other]
    difference = paired_difference(
        [getattr(x, metric) for x, _ in both],
        [getattr(y, metric) for _, y in both],
        [x.persona_id for x, _ in both],
    )
    return {
        "a": a,
        "b": b,
        "metric": metric,
        "difference": difference.difference,
        "low": difference.low,
        "high": difference.high,
        "n": difference.n,
        "p": difference.p,
        "distinguishable": difference.distinguishable,
        "words": difference.words,
    }


def funnel_of(run: Run, **where: Any) -> dict[str, list[dict[str, Any]]]:
    """Method -> stage, number and share of the failed preference checkpoints that each stage lost.

    ``where`` narrows by ORM look-ups on the score, such as ``checkpoint__conflict="drift"``.
    """
    rows = (
        CheckpointScore.objects.filter(trajectory__unit__run=run, **where)
        .exclude(gap="")
        .order_by()
        .values_list("trajectory__unit__method", "gap")
        .annotate(count=Count("pk"))
    )
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for method, gap, count in rows:
        counts[method][gap] += count
    return {method: _shares(counts[method]) for method in run.manifest["methods"] if method in counts}


def _shares(counts: Counter[str]) -> list[dict[str, Any]]:
    total = counts.total()
    return [{"stage": stage, "count": count, "share": count / total} for stage, count in counts.most_common()]
