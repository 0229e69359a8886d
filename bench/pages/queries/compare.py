"""Two methods, of one run or of two: where each loses what it knew, and the paired differences."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import TypedDict

from bench.grading.gap import FunnelRow, GapStage, funnel
from bench.models import Domain, Run, RunStatus
from bench.pages.charts import Forest, IntervalRow, axis_end, forest
from bench.pages.queries.overview import turned
from bench.results.kept import remember
from bench.results.losses import Loss, remembered_losses, share_where
from bench.results.pairs import (
    Pair,
    adjust,
    pairs,
    pairs_by_action,
    pairs_by_domain,
    pairs_by_domain_and_action,
    without_verdict,
)
from bench.results.report import results_of
from bench.results.rows import rows_by_view
from bench.statistics.intervals import MeasureJson

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


@dataclass(frozen=True)
class Narrowed:
    """Which tasks and preference checkpoints a funnel counts; "" is all. ``conflict`` "none": those without one."""

    domain: str = ""
    conflict: str = ""
    action: str = ""
    tier: str = ""

    def fits(self, loss: Loss) -> bool:
        return (
            self.domain in ("", loss.domain)
            and self.conflict in ("", loss.conflict or "none")
            and self.action in ("", loss.action)
            and self.tier in ("", loss.tier)
        )


class FunnelStage(TypedDict):
    """``share`` and ``interval`` are of the checkpoints that are still alive after the stage."""

    stage: str
    kept: int
    lost: int
    share: float | None
    interval: MeasureJson
    lost_at: str


class Funnel(TypedDict):
    """``start``: scored preference checkpoints; what its stages do not say by themselves beside them."""

    side: Side
    start: int
    unscored: int
    unknown: int
    judged_wrong: int
    over_applied: int
    keeps_no_constraints: bool
    stages: list[FunnelStage]


def funnel_rows(side: Side, only: Narrowed) -> Funnel:
    """The knowledge-to-action funnel of one method."""
    losses = [loss for loss in remembered_losses(side.run) if loss.method == side.method and only.fits(loss)]
    scored = [(loss, _lost_at(loss)) for loss in losses if loss.combined]
    counts: Counter[GapStage | None] = Counter()
    for loss, stage in scored:
        counts[stage] += loss.number
    stages = funnel(stage for stage, count in counts.items() for stage in repeat(stage, count))
    start = stages[0].reached
    return {
        "side": side,
        "start": start,
        "unscored": sum(loss.number for loss in losses if not loss.combined),
        "unknown": counts[GapStage.UNKNOWN],
        "judged_wrong": counts[GapStage.JUDGED_WRONG],
        "over_applied": counts[GapStage.OVER_APPLIED],
        "keeps_no_constraints": counts[GapStage.NOT_ACTED] > 0,
        "stages": list(_stages(scored, stages, start)),
    }


def _stages(
    scored: Sequence[tuple[Loss, GapStage | None]], stages: Sequence[FunnelRow], start: int
) -> Iterator[FunnelStage]:
    """Each stage with the share that is alive after it, of those that the funnel counts."""
    gone: set[str] = set()
    counted = [(loss, stage) for loss, stage in scored if stage is not GapStage.UNKNOWN]
    for row in stages:
        lost_at = LOST_AT.get(row.stage, "")
        gone.update(filter(None, lost_at.split(",")))
        kept = row.reached - row.lost
        yield {
            "stage": row.stage,
            "kept": kept,
            "lost": row.lost,
            "share": kept / start if start else None,
            "interval": share_where([(loss, stage not in gone) for loss, stage in counted]).to_json(),
            "lost_at": lost_at,
        }


def _lost_at(loss: Loss) -> GapStage | None:
    """The stage that lost these scored checkpoints; None where nothing did."""
    lost = loss.combined == "fail" or loss.gap == GapStage.JUDGED_WRONG
    return GapStage(loss.gap or GapStage.UNKNOWN) if lost else None


class MetricRow(TypedDict):
    """One measure's difference, and the same by kind of action."""

    metric: str
    words: str
    pair: Pair
    parts: list[Pair]


class Paired(TypedDict):
    """Differences over the ``common`` units that both have. ``domain_parts``: of domains with tasks of both kinds,
    domain -> the difference by kind of action."""

    metrics: list[MetricRow]
    domains: list[Pair]
    domain_parts: dict[str, list[Pair]]
    common: int


def paired(a: Side, b: Side, action: str = "") -> Paired:
    """Two methods of one run are in its results; what spans two runs is remembered until a score of either changes."""
    if a.run.pk == b.run.pk and a.method != b.method:
        found = results_of(a.run, action=action)
        domains = found["paired_by_domain"], found["paired_by_domain_and_action"]
        return _shaped(found["paired"], found["paired_by_action"], *domains, a.method, b.method)
    name = f"paired-{a.method}-{b.method}-{action}"
    return remember(name, (a.run, b.run), lambda: _across(a, b, action))


def _across(a: Side, b: Side, action: str) -> Paired:
    """As ``paired``, from the units of both runs; their methods may be the same, so the sides go by "a" and "b"."""
    rows = {s.run.pk: rows_by_view(s.run)["combined"] for s in (a, b)}
    sides = {
        name: [row for row in rows[s.run.pk] if row.method == s.method and action in ("", row.action)]
        for name, s in (("a", a), ("b", b))
    }
    found = pairs(sides), pairs_by_action(sides), pairs_by_domain(sides), pairs_by_domain_and_action(sides)
    if a.run.simulated or b.run.simulated:
        for group in found:
            without_verdict(group)
    shaped = _shaped(*found, "a", "b")
    of_metrics = (pair for row in shaped["metrics"] for pair in (row["pair"], *row["parts"]))
    for pair in chain(shaped["domains"], *shaped["domain_parts"].values(), of_metrics):
        pair.update({"a": a.method, "b": b.method})
    return shaped


def _shaped(
    metrics: Sequence[Pair],
    by_action: Sequence[Pair],
    by_domain: Sequence[Pair],
    by_both: Sequence[Pair],
    a: str,
    b: str,
) -> Paired:
    """The rows of these two, the first method first, with Holm's adjustment over what the page shows together."""

    def mine(rows: Sequence[Pair]) -> list[Pair]:
        return [{**turned(row, a)} for row in rows if {row["a"], row["b"]} == {a, b}]

    whole = {row["metric"]: row for row in mine(metrics)}
    parts = mine(by_action)
    adjust(list(whole.values()))
    for action in {part["action"] for part in parts}:
        adjust([part for part in parts if part["action"] == action])
    rows: list[MetricRow] = [
        {"metric": m, "words": words, "pair": whole[m], "parts": [part for part in parts if part["metric"] == m]}
        for m, words in METRIC_WORDS.items()
    ]
    domain_parts: dict[str, list[Pair]] = defaultdict(list)
    for part in mine(by_both):
        domain_parts[part["domain"]].append(part)
    common = rows[0]["pair"]["common"]
    return {"metrics": rows, "domains": mine(by_domain), "domain_parts": dict(domain_parts), "common": common}


def difference_forest(rows: Sequence[Pair], names: Mapping[str, str], *, simulated: bool) -> Forest | None:
    """Differences by domain on a symmetric axis; to the right the first method is better."""
    lines = []
    for row in rows:
        name = names.get(row["domain"], row["domain"])
        difference, low, high = row["difference"], row["low"], row["high"]
        if difference is not None and low is not None and high is not None:
            lines.append(IntervalRow(name, name, difference, low, high, "var(--accent)", simulated))
    end = axis_end(lines)
    return forest(lines, low=-end, high=end)


def domain_names() -> dict[str, str]:
    return dict(Domain.objects.values_list("slug", "name"))


def conflict_kinds(run: Run) -> list[str]:
    return sorted({row["conflict"] for row in results_of(run)["losses"]} - {""})
