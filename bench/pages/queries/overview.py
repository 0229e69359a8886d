"""Which run a dashboard shows, and its numbers in the order and shape of the page."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from django.db.models.fields.json import KT

from agents.registry import resolve
from bench.models import Run, RunStatus
from bench.pages import numbers
from bench.pages.charts import Forest, IntervalRow, forest
from bench.results.cells import Cell, Part
from bench.results.losses import LostAt, StageShare
from bench.results.pairs import Pair


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


def gap_tables(
    lost_at: LostAt, by_action: Mapping[str, LostAt], domain: str, methods: Sequence[str]
) -> dict[str, list[LostRow]]:
    """The table of all tasks under "", and where tasks of both kinds lost preferences one of each kind of action."""
    parts = {action: gap_table(found.get(domain, {}), methods) for action, found in by_action.items()}
    both = {action: rows for action, rows in parts.items() if rows}
    return {"": gap_table(lost_at.get(domain, {}), methods), **(both if len(both) > 1 else {})}


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
