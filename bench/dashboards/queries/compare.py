"""Two methods, of one run or of two: where each loses what it knew, and the paired differences."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from django.core.cache import cache
from django.db.models import Count

from bench.dashboards.charts import Forest, IntervalRow, axis_end, forest
from bench.models import CheckpointScore, Domain, Run, RunStatus
from bench.scoring.gap import GapStage, funnel
from bench.scoring.intervals import holm, paired_difference
from bench.scoring.results import METRICS, Row, unit_rows

METRIC_WORDS = {
    "task_success": "task success",
    "behaviour_accuracy": "behaviour accuracy",
    "preference_satisfaction": "preference satisfaction",
}
LOST_AT: Mapping[str, str] = {
    "retrieved": "not_retrieved",
    "constraint drawn": "no_constraint",
    "resolved": "resolved_wrongly,over_applied",
    "planned": "not_in_plan",
    "acted on": "not_in_action,not_acted",
}


@dataclass(frozen=True)
class Side:
    """One half of a comparison."""

    run: Run
    method: str


def finished_runs() -> list[Run]:
    done = Run.objects.filter(status=RunStatus.DONE).select_related("dataset").defer("results")
    return list(done.order_by("simulated", "-id")[:100])


def why_not_comparable(a: Run, b: Run) -> str:
    """A sentence that refuses the comparison, or ""."""
    if a.dataset.sha256 != b.dataset.sha256:
        return (
            f"Run {a.pk} used {a.dataset} (sha256 {a.dataset.sha256[:12]}) and run {b.pk} used {b.dataset} "
            f"({b.dataset.sha256[:12]}). Scores of different data versions are not comparable; "
            "run both methods on the same version."
        )
    if a.simulated != b.simulated:
        made = a if a.simulated else b
        return f"Run {made.pk} is simulated and the other is not. Simulated results are never ranked with real ones."
    rubric_a, rubric_b = a.manifest["rubric_version"], b.manifest["rubric_version"]
    if rubric_a != rubric_b:
        return f"Run {a.pk} was graded under rubric {rubric_a} and run {b.pk} under {rubric_b}; re-judge one of them."
    return ""


def funnel_rows(side: Side, *, domain: str = "", conflict: str = "") -> dict[str, Any]:
    """The knowledge-to-action funnel of one method: ``{stages, unknown, judged_wrong, drawn}``. One query."""
    counts = _gap_counts(side, domain, conflict)
    stages = funnel(stage for stage, count in counts.items() for stage in repeat(stage, count))
    start = stages[0].reached
    return {
        "side": side,
        "start": start,
        "unknown": counts[GapStage.UNKNOWN],
        "judged_wrong": counts[GapStage.JUDGED_WRONG],
        "keeps_no_constraints": counts[GapStage.NOT_ACTED] > 0,
        "stages": [
            {
                "stage": row.stage,
                "kept": row.reached - row.lost,
                "lost": row.lost,
                "share": (row.reached - row.lost) / start if start else None,
                "lost_share": row.lost / start if start else None,
                "lost_at": LOST_AT.get(row.stage, ""),
            }
            for row in stages
        ],
    }


def _gap_counts(side: Side, domain: str, conflict: str) -> Counter[GapStage | None]:
    """Scored preference checkpoints by the stage that lost them; None for those that nothing lost."""
    scores = CheckpointScore.objects.filter(
        trajectory__unit__run=side.run, trajectory__unit__method=side.method, checkpoint__kind="preference"
    ).exclude(combined="")
    if domain:
        scores = scores.filter(checkpoint__task__scenario__domain__slug=domain)
    if conflict:
        scores = scores.filter(checkpoint__conflict="" if conflict == "none" else conflict)
    counts: Counter[GapStage | None] = Counter()
    for gap, combined, count in scores.order_by().values_list("gap", "combined").annotate(count=Count("pk")):
        lost = combined == "fail" or gap == GapStage.JUDGED_WRONG
        counts[GapStage(gap or GapStage.UNKNOWN) if lost else None] += count
    return counts


def conflict_rates(a: Side, b: Side) -> list[dict[str, Any]]:
    """Satisfied share of preference checkpoints by kind of conflict, for both sides. Two queries at most."""
    sides = {"a": _conflict_counts(a), "b": _conflict_counts(b)}
    kinds = sorted({kind for counts in sides.values() for kind in counts}, key=lambda kind: (kind != "", kind))
    return [
        {"kind": kind or "no conflict", "slug": kind or "none", **{s: counts.get(kind) for s, counts in sides.items()}}
        for kind in kinds
    ]


def _conflict_counts(side: Side) -> dict[str, dict[str, Any]]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    rows = (
        CheckpointScore.objects.filter(trajectory__unit__run=side.run, trajectory__unit__method=side.method)
        .filter(checkpoint__kind="preference", combined__in=["pass", "fail"])
        .order_by()
        .values_list("checkpoint__conflict", "combined")
        .annotate(count=Count("pk"))
    )
    for kind, combined, count in rows:
        found[kind][combined] += count
    return {k: {"n": c.total(), "passed": c["pass"], "share": c["pass"] / c.total()} for k, c in found.items()}


def paired(a: Side, b: Side) -> dict[str, Any]:
    """``{"metrics": [...], "domains": [...]}``: differences over common units. Kept until a score changes."""
    key = _key(a, b)
    found = cache.get(key)
    if found is None:
        found = _paired(a, b)
        cache.set(key, found, timeout=24 * 3600)
    return dict(found)


def _key(a: Side, b: Side) -> str:
    """Results change whenever a verdict does, so their content names the state."""
    content = json.dumps([[s.run.pk, s.method, s.run.results] for s in (a, b)], sort_keys=True, default=str)
    return f"paired-{hashlib.sha256(content.encode()).hexdigest()}"


def _paired(a: Side, b: Side) -> dict[str, Any]:
    rows_a = unit_rows(a.run)
    rows_b = rows_a if a.run.pk == b.run.pk else unit_rows(b.run)
    other = {(row.task_id, row.repeat): row for row in rows_b if row.method == b.method}
    both = [
        (row, other[key]) for row in rows_a if row.method == a.method and (key := (row.task_id, row.repeat)) in other
    ]
    metrics = [{"metric": m, "words": METRIC_WORDS[m], **_difference(both, m)} for m in METRICS]
    slugs = sorted({x.domain for x, _ in both})
    domains = [{"slug": s, **_difference([p for p in both if p[0].domain == s], "task_success")} for s in slugs]
    for group in (metrics, domains):
        for row in group:
            row |= {"a": a.method, "b": b.method}
        known = [row for row in group if row["p"] is not None]
        for row, adjusted in zip(known, holm([row["p"] for row in known]), strict=True):
            row["p_holm"] = adjusted
    return {"metrics": metrics, "domains": domains, "common": len(both)}


def _difference(both: Sequence[tuple[Row, Row]], metric: str) -> dict[str, Any]:
    found = paired_difference(
        [getattr(x, metric) for x, _ in both], [getattr(y, metric) for _, y in both], [x.persona_id for x, _ in both]
    )
    return {
        "difference": found.difference, "low": found.low, "high": found.high, "n": found.n,
        "p": found.p, "distinguishable": found.distinguishable,
    }  # fmt: skip


def difference_forest(rows: Sequence[Mapping[str, Any]], names: Mapping[str, str], *, simulated: bool) -> Forest | None:
    """Differences by domain on a symmetric axis; to the right the first method is better."""
    lines = [
        _line(names.get(row["slug"], row["slug"]), row, hollow=simulated)
        for row in rows
        if row["difference"] is not None
    ]
    end = axis_end(lines)
    return forest(lines, low=-end, high=end)


def _line(name: str, row: Mapping[str, Any], *, hollow: bool) -> IntervalRow:
    return IntervalRow(name, name, row["difference"], row["low"], row["high"], "var(--accent)", hollow)


def domain_names() -> dict[str, str]:
    return dict(Domain.objects.values_list("slug", "name"))


def conflict_kinds(run: Run) -> list[str]:
    kinds = CheckpointScore.objects.filter(trajectory__unit__run=run).order_by()
    return sorted(kinds.exclude(checkpoint__conflict="").values_list("checkpoint__conflict", flat=True).distinct())
