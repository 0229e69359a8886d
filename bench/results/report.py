"""What a run amounts to: one cell a method, paired differences, and where the gap opens."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from agents.registry import resolve
from bench.grading.coverage import judge_coverage
from bench.models import Run
from bench.results.human import human_calibrated
from bench.results.independence import expected_if_independent
from bench.results.kept import FORMAT, keep, remember
from bench.results.losses import loss_counts
from bench.results.measures import Coverage
from bench.results.pairs import pairs, pairs_by_domain, without_verdict
from bench.results.rows import METRICS, VIEWS, Row, rows_by_view
from bench.statistics.intervals import clustered_mean
from bench.statistics.repeats import over_tasks

ByMethod = Mapping[str, Sequence[Row]]


def results_of(run: Run, view: str = "combined", split: str = "") -> dict[str, Any]:
    """What ``compute`` returns, kept until something that it is made of changes: see kept.py."""
    if (view, split) == ("combined", ""):
        return keep(run, "results", compute)
    return remember(f"results-{view}-{split}", (run,), lambda: compute(run, view, split))


def compute(run: Run, view: str = "combined", split: str = "") -> dict[str, Any]:
    """What a run amounts to, computed anew; a page needs nothing else. JSON values only.

    ``view``: combined, ai or human. ``split``: dev, test or "" for both. Keys:
    ``cells`` (one a method) and ``paired`` (every two methods and metric),
    ``paired_by_domain`` (task success), ``views`` (view -> method -> task
    success with both denominators), ``human_calibrated``, ``losses``: the
    counts of preference checkpoints as in ``loss_counts``, of combined scores,
    and ``judges``: how much of what it was asked each judge answered, of the whole run.
    """
    if view not in VIEWS:
        raise ValueError(f"view {view!r} is not known; allowed: {', '.join(VIEWS)}")
    sides = {name: _by_method(run, rows, split) for name, rows in rows_by_view(run).items()}
    by_method = sides[view]
    expected = expected_if_independent(run, view, split)
    paired, by_domain = pairs(by_method), pairs_by_domain(by_method)
    if run.simulated:
        without_verdict([*paired, *by_domain])
    return {
        "format": FORMAT,
        "view": view,
        "split": split,
        "human_calibrated": human_calibrated(sides["human"], sides["ai"]),
        "views": {name: _task_success(side) for name, side in sides.items()},
        "cells": [_cell(run, m, rows, expected.get(m)) for m, rows in by_method.items()],
        "paired": paired,
        "paired_by_domain": by_domain,
        "losses": loss_counts(run, split),
        "judges": judge_coverage(run),
    }


def _by_method(run: Run, rows: Iterable[Row], split: str) -> dict[str, list[Row]]:
    """The rows of each method that has one, in the order of the manifest."""
    found: dict[str, list[Row]] = {method: [] for method in run.manifest["methods"]}
    for row in rows:
        if not split or row.split == split:
            found[row.method].append(row)
    return {method: rows for method, rows in found.items() if rows}


def _task_success(by_method: ByMethod) -> dict[str, dict[str, Any]]:
    """Method -> ``{"task_success", "evaluated", "planned"}``."""
    found = {}
    for method, rows in by_method.items():
        measure = clustered_mean([row.task_success for row in rows], [row.persona_id for row in rows])
        found[method] = {"task_success": measure.to_json(), "evaluated": measure.n, "planned": len(rows)}
    return found


def _cell(run: Run, method: str, rows: Sequence[Row], expected: float | None) -> dict[str, Any]:
    spec = resolve(method)
    evaluated = [row for row in rows if row.evaluated]
    coverage = Coverage(len(rows), len(evaluated))
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
            domain: _part([row for row in rows if row.domain == domain]) for domain in sorted({r.domain for r in rows})
        },
        "by_action": {
            action: _part([row for row in rows if row.action == action]) for action in sorted({r.action for r in rows})
        },
        "repeats": _repeats(rows, int(run.manifest["repeats"])),
        "over_applied_per_task": _mean([row.over_applied for row in rows]),
        "over_applied": _count(rows),
        "expected_if_independent": expected,
        "evidence_recall": _mean([row.evidence_recall for row in rows]),
        "recall": _recall(rows),
        "llm_calls": sum(row.llm_calls for row in rows),
        "tokens_in": sum(row.tokens_in for row in rows),
        "tokens_out": sum(row.tokens_out for row in rows),
        "cost_usd": round(sum(row.cost_usd for row in rows), 6),
        "wall_s": round(sum(row.wall_s for row in rows), 3),
    }


def _part(rows: Sequence[Row]) -> dict[str, Any]:
    return {"planned": len(rows), "evaluated": sum(row.evaluated for row in rows), **_metrics(rows)}


def _metrics(rows: Sequence[Row]) -> dict[str, Any]:
    personas = [row.persona_id for row in rows]
    return {metric: clustered_mean([getattr(row, metric) for row in rows], personas).to_json() for metric in METRICS}


def _recall(rows: Sequence[Row]) -> dict[str, float | int | None]:
    """The mean share of gold events that a trajectory saw, with its interval."""
    return clustered_mean([row.evidence_recall for row in rows], [row.persona_id for row in rows]).to_json()


def _count(rows: Sequence[Row]) -> dict[str, int | None]:
    """``{"count", "n"}``: constraints applied that should not have been, over ``n`` trajectories that draw any."""
    known = [row.over_applied for row in rows if row.over_applied is not None]
    return {"count": sum(known) if known else None, "n": len(known)}


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
