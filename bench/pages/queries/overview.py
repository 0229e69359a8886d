"""Which run a dashboard shows, and its numbers in the order and shape of the page."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from django.db.models import Count, Q
from django.db.models.fields.json import KT

from agents.registry import resolve
from bench.models import CheckpointScore, Domain, Run, RunStatus, Unit
from bench.pages import numbers
from bench.pages.charts import Forest, IntervalRow, forest
from bench.results.cells import Cell, Part
from bench.results.losses import StageShare
from bench.results.pairs import Pair
from bench.statistics.intervals import Measure, clustered_mean, clustered_share


@dataclass(frozen=True)
class Choice:
    """The run that a dashboard shows, and what else could be chosen."""

    run: Run | None
    candidates: list[Run]
    simulated_shown: bool
    simulated_hidden: int  # simulated candidates left out

    @property
    def only_simulated(self) -> bool:
        return self.run is not None and self.run.simulated and all(run.simulated for run in self.candidates)


def choose_run(asked: Run | None, *, simulated: bool) -> Choice:
    """The run that the address names; else the newest finished one with a method that ranks. At most two queries.

    Offered are the newest finished runs of each dataset, model, kind and set of methods; simulated ones only if
    asked for or alone, and the run named in any case.
    """
    newest: dict[tuple[str, str, bool, frozenset[str]], Run] = {}
    done = Run.objects.filter(status=RunStatus.DONE).select_related("dataset").defer("manifest", "results", "agreement")
    for one in done.annotate(methods=KT("manifest__methods")).order_by("-id")[:500]:
        newest.setdefault((one.dataset.name, one.model, one.simulated, _methods(one)), one)
    real = [run for run in newest.values() if not run.simulated]
    simulated = simulated or not real or (asked is not None and asked.simulated)
    shown = list(newest.values()) if simulated else real
    hidden = len(newest) - len(shown)
    if asked is not None and all(run.pk != asked.pk for run in shown):
        shown = sorted([*shown, asked], key=lambda run: -run.pk)
    chosen = asked or min(shown, key=lambda run: (run.simulated, not _ranks(run), -run.pk), default=None)
    run = asked or (Run.objects.select_related("dataset").get(pk=chosen.pk) if chosen else None)
    return Choice(run, shown, any(run.simulated for run in shown), hidden)


def _methods(run: Run) -> frozenset[str]:
    return frozenset(json.loads(run.methods))  # type: ignore[attr-defined]  # of the annotation


def _ranks(run: Run) -> bool:
    """Whether some method of the run ranks: a run of the oracle alone would hide what it is the limit of."""
    return any(not resolve(method).uses_gold for method in _methods(run))


def ranked(cells: Sequence[Cell]) -> list[Cell]:
    """Best task success first; withheld cells after those, and methods that use gold last, since they never rank."""

    def place(cell: Cell) -> tuple[bool, bool, float]:
        mean = cell["task_success"]["mean"]
        return cell["uses_gold"], bool(numbers.withheld(cell)), -(mean if mean is not None else -1)

    return sorted(cells, key=place)


def success_forest(cells: Sequence[Cell], *, simulated: bool, domain: str = "") -> Forest | None:
    """Task success by method; rows without a headline are left out, and the table says why."""
    rows = []
    for cell in cells:
        part: Part | None = cell["by_domain"].get(domain) if domain else cell
        if part is None or numbers.withheld(part):
            continue
        name, value = cell["method"], part["task_success"]
        mean, low, high = value["mean"], value["low"], value["high"]
        if mean is not None and low is not None and high is not None:
            label, short, colour = numbers.method_label(name), numbers.method_short(name), numbers.method_colour(name)
            rows.append(IntervalRow(label, short, mean, low, high, colour, hollow=simulated))
    return forest(rows)


class HeatValue(TypedDict):
    """A share with its interval, ``n`` of ``planned`` behind it, and the shade (0 to 9) of its cell.

    Where it has no headline, ``why`` says the reason and ``shade`` is "none".
    """

    method: str
    mean: float | None
    low: float | None
    high: float | None
    n: int
    planned: int
    shade: str
    why: str


class HeatRow(TypedDict):
    """One value a method, in the order of the page. ``note``: the kind of action, or ""."""

    slug: str
    name: str
    note: str
    values: list[HeatValue]


def heat(cells: Sequence[Cell], domains: Sequence[Domain]) -> list[HeatRow]:
    """One row a domain: task success of every method."""
    rows: list[HeatRow] = []
    for domain in domains:
        parts = {cell["method"]: cell["by_domain"].get(domain.slug) for cell in cells}
        if any(parts.values()):
            values = [_of_part(method, part) for method, part in parts.items()]
            rows.append({"slug": domain.slug, "name": domain.name, "note": "", "values": values})
    return rows


def _of_part(method: str, part: Part | None) -> HeatValue:
    if part is None:
        return _heat_value(method, Measure(None, None, None, 0), 0)
    measure = part["task_success"]
    return _heat_value(method, Measure(measure["mean"], measure["low"], measure["high"], measure["n"]), part["planned"])


def _heat_value(method: str, measure: Measure, planned: int) -> HeatValue:
    why = numbers.withheld({"planned": planned, "evaluated": measure.n}) if planned else "no task"
    why = why or ("nothing is scored" if measure.mean is None else "")
    shown = Measure(None, None, None, measure.n) if why or measure.mean is None else measure
    shade = "none" if shown.mean is None else str(min(9, int(shown.mean * 10)))
    return {"method": method, **shown.to_json(), "planned": planned, "shade": shade, "why": why}


class Lost(TypedDict):
    method: str
    share: StageShare | None


class LostRow(TypedDict):
    stage: str
    cells: list[Lost]


def gap_table(lost_at: Mapping[str, Sequence[StageShare]], methods: Sequence[str]) -> list[LostRow]:
    """One row a stage in the order of the course: share and number of failed preference checkpoints by method."""
    counts = {(stage["stage"], method): stage for method, stages in lost_at.items() for stage in stages}
    seen = {stage for stage, _ in counts}
    return [
        {"stage": stage, "cells": [{"method": m, "share": counts.get((stage, m))} for m in methods]}
        for stage in numbers.STAGE_WORDS
        if stage in seen
    ]


class PairRow(TypedDict):
    """A pair with the same pair ``parts`` by kind of action."""

    pair: Pair
    parts: list[Pair]


def pair_rows(paired: Sequence[Pair], by_action: Sequence[Pair], metric: str = "task_success") -> list[PairRow]:
    """Every two methods, with what they differ by among texts and among calls."""
    parts: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for pair in by_action:
        if pair["metric"] == metric:
            parts[pair["a"], pair["b"]].append(pair)
    return [{"pair": pair, "parts": parts[pair["a"], pair["b"]]} for pair in paired if pair["metric"] == metric]


def against(cells: Sequence[Cell], rows: Sequence[PairRow]) -> list[PairRow]:
    """Of iba, or else of the first cell, against each other ranked method."""
    names = [cell["method"] for cell in cells if not cell["uses_gold"]]
    if not names:
        return []
    leader = "iba" if "iba" in names else names[0]
    mine: list[PairRow] = [
        {"pair": turned(row["pair"], leader), "parts": [turned(part, leader) for part in row["parts"]]}
        for row in rows
        if leader in (row["pair"]["a"], row["pair"]["b"])
    ]
    ranked_ones = [row for row in mine if row["pair"]["b"] in names]
    return sorted(ranked_ones, key=lambda row: names.index(row["pair"]["b"]))


def turned(pair: Pair, leader: str) -> Pair:
    """The pair with ``leader`` first; the difference changes its sign with it."""
    if pair["a"] == leader:
        return pair
    low, high, difference = pair["low"], pair["high"], pair["difference"]
    other: Pair = {**pair, "a": leader, "b": pair["a"]}
    if difference is not None and low is not None and high is not None:
        other.update({"difference": -difference, "low": -high, "high": -low})
    return other


def success_by_scenario(
    run: Run, domain: Domain, methods: Sequence[str], *, split: str = "", action: str = ""
) -> list[HeatRow]:
    """Task success by scenario of the domain. One query."""
    units = (
        Unit.objects.filter(run=run, task__scenario__domain=domain, **_narrowed("task", split, action))
        .order_by()
        .annotate(
            wanted=Count("trajectory__scores"),
            known=Count("trajectory__scores", filter=~Q(trajectory__scores__combined="")),
            passed=Count("trajectory__scores", filter=Q(trajectory__scores__combined="pass")),
        )
        .values_list(
            "task__scenario__slug", "task__scenario__name", "task__scenario__action_kind", "method",
            "task__persona_id", "wanted", "known", "passed",
        )
    )  # fmt: skip
    found: dict[tuple[str, str, str], dict[str, list[tuple[int, float | None]]]] = defaultdict(
        lambda: {method: [] for method in methods}
    )
    for slug, name, kind, method, persona, wanted, known, passed in units:
        scored = wanted and known == wanted
        found[slug, name, kind].setdefault(method, []).append((persona, float(passed == wanted) if scored else None))
    return [
        {"slug": slug, "name": name, "note": numbers.action_words(kind), "values": [
            _heat_value(m, clustered_mean([v for _, v in of[m]], [p for p, _ in of[m]]), len(of[m])) for m in methods
        ]}
        for (slug, name, kind), of in sorted(found.items())
    ]  # fmt: skip


def satisfaction_by_dimension(
    run: Run, domain: Domain, methods: Sequence[str], *, split: str = "", action: str = ""
) -> list[HeatRow]:
    """Share of passed preference checkpoints by dimension, in tasks of the domain. Two queries."""
    units = Unit.objects.filter(run=run, task__scenario__domain=domain, task__checkpoints__kind="preference")
    asked = units.filter(**_narrowed("task", split, action)).order_by()
    scored = (
        CheckpointScore.objects.filter(trajectory__unit__run=run, checkpoint__task__scenario__domain=domain)
        .filter(checkpoint__kind="preference", combined__in=["pass", "fail"])
        .filter(**_narrowed("checkpoint__task", split, action))
        .order_by()
        .values_list("checkpoint__dimension", "trajectory__unit__method", "checkpoint__task__persona_id")
        .annotate(evaluated=Count("pk"), passed=Count("pk", filter=Q(combined="pass")))
    )
    planned: dict[tuple[str, str], int] = {}
    for dimension, method, count in asked.values_list("task__checkpoints__dimension", "method").annotate(n=Count("pk")):
        planned[dimension, method] = count
    by_persona: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for dimension, method, _, evaluated, passed in scored:
        by_persona[dimension, method].append((passed, evaluated))

    def value(dimension: str, method: str) -> HeatValue:
        counts = by_persona[dimension, method]
        share = clustered_share([passed for passed, _ in counts], [n for _, n in counts])
        return _heat_value(method, share, planned.get((dimension, method), 0))

    dimensions = sorted({dimension for dimension, _ in planned})
    return [{"slug": d, "name": d, "note": "", "values": [value(d, m) for m in methods]} for d in dimensions]


def _narrowed(task: str, split: str, action: str) -> dict[str, str]:
    given = {f"{task}__persona__split": split, f"{task}__scenario__action_kind": action}
    return {name: value for name, value in given.items() if value}
