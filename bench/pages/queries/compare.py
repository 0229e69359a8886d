"""Two methods, of one run or of two: where each loses what it knew, and the paired differences."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from bench.grading.gap import GapStage, funnel
from bench.models import Domain, Run, RunStatus
from bench.pages.charts import Forest, IntervalRow, axis_end, forest
from bench.pages.queries.overview import turned
from bench.results.kept import remember
from bench.results.pairs import adjust, pairs, pairs_by_domain, without_verdict
from bench.results.report import results_of
from bench.results.rows import rows_by_view

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


def offered_runs(*shown: Run) -> list[Run]:
    """The newest finished runs, real ones first, and in any case those that the page shows."""
    done = Run.objects.filter(status=RunStatus.DONE).select_related("dataset").defer("manifest", "results", "agreement")
    newest = list(done.order_by("simulated", "-id")[:100])
    missing = {run.pk: run for run in shown if run not in newest}
    return [*missing.values(), *newest]


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
    """The knowledge-to-action funnel of one method, and what its stages do not say by themselves."""
    counts = _gap_counts(side, domain, conflict)
    stages = funnel(stage for stage, count in counts.items() for stage in repeat(stage, count))
    start = stages[0].reached
    return {
        "side": side,
        "start": start,
        "unscored": sum(row["count"] for row in _narrowed(side, domain, conflict) if not row["combined"]),
        "unknown": counts[GapStage.UNKNOWN],
        "judged_wrong": counts[GapStage.JUDGED_WRONG],
        "over_applied": counts[GapStage.OVER_APPLIED],
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
    counts: Counter[GapStage | None] = Counter()
    for row in _narrowed(side, domain, conflict):
        if row["combined"]:
            lost = row["combined"] == "fail" or row["gap"] == GapStage.JUDGED_WRONG
            counts[GapStage(row["gap"] or GapStage.UNKNOWN) if lost else None] += row["count"]
    return counts


def _narrowed(side: Side, domain: str, conflict: str) -> list[dict[str, Any]]:
    return [
        row for row in _losses(side) if domain in ("", row["domain"]) and conflict in ("", row["conflict"] or "none")
    ]


def _losses(side: Side) -> list[dict[str, Any]]:
    return [row for row in results_of(side.run)["losses"] if row["method"] == side.method]


def conflict_rates(a: Side, b: Side) -> list[dict[str, Any]]:
    """Satisfied share of preference checkpoints by kind of conflict, for both sides."""
    sides = {"a": _conflict_counts(a), "b": _conflict_counts(b)}
    kinds = sorted({kind for counts in sides.values() for kind in counts}, key=lambda kind: (kind != "", kind))
    return [
        {"kind": kind or "no conflict", "slug": kind or "none", **{s: counts.get(kind) for s, counts in sides.items()}}
        for kind in kinds
    ]


def _conflict_counts(side: Side) -> dict[str, dict[str, Any]]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for row in _losses(side):
        if row["combined"] in ("pass", "fail"):
            found[row["conflict"]][row["combined"]] += row["count"]
    return {k: {"n": c.total(), "passed": c["pass"], "share": c["pass"] / c.total()} for k, c in found.items()}


def paired(a: Side, b: Side) -> dict[str, Any]:
    """``{"metrics": [...], "domains": [...], "common"}``: differences over the units that both have.

    Two methods of one run are in its results; what spans two runs is remembered until a score of either changes.
    """
    if a.run.pk == b.run.pk and a.method != b.method:
        results = results_of(a.run)
        return _shaped(results["paired"], results["paired_by_domain"], a.method, b.method)
    return remember(f"paired-{a.method}-{b.method}", (a.run, b.run), lambda: _across(a, b))


def _across(a: Side, b: Side) -> dict[str, Any]:
    """As ``paired``, from the units of both runs; their methods may be the same, so the sides go by "a" and "b"."""
    rows = {s.run.pk: rows_by_view(s.run)["combined"] for s in (a, b)}
    sides = {n: [row for row in rows[s.run.pk] if row.method == s.method] for n, s in (("a", a), ("b", b))}
    metrics, domains = pairs(sides), pairs_by_domain(sides)
    if a.run.simulated or b.run.simulated:
        without_verdict([*metrics, *domains])
    found = _shaped(metrics, domains, "a", "b")
    names = {"a": a.method, "b": b.method}
    return {**found, **{group: [{**row, **names} for row in found[group]] for group in ("metrics", "domains")}}


def _shaped(
    metrics: Sequence[Mapping[str, Any]], domains: Sequence[Mapping[str, Any]], a: str, b: str
) -> dict[str, Any]:
    """The rows of these two, the first method first, with Holm's adjustment over what the page shows together."""
    mine = {row["metric"]: dict(turned(row, a)) for row in metrics if {row["a"], row["b"]} == {a, b}}
    rows = [{**mine[metric], "words": words} for metric, words in METRIC_WORDS.items()]
    adjust(rows)
    here = [{**turned(row, a), "slug": row["domain"]} for row in domains if {row["a"], row["b"]} == {a, b}]
    return {"metrics": rows, "domains": here, "common": rows[0]["common"]}


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
    return sorted({row["conflict"] for row in results_of(run)["losses"]} - {""})
