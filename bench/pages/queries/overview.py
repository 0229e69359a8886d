"""Which run a dashboard shows, and its numbers in the order and shape of the page."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q
from django.db.models.fields.json import KT

from agents.registry import resolve
from bench.models import CheckpointScore, Domain, Run, RunStatus, Unit
from bench.pages import numbers
from bench.pages.charts import Forest, IntervalRow, forest

Cell = Mapping[str, Any]


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
        return bool(cell.get("uses_gold")), bool(numbers.withheld(cell)), -(mean if mean is not None else -1)

    return sorted(cells, key=place)


def success_forest(cells: Sequence[Cell], *, simulated: bool, domain: str = "") -> Forest | None:
    """Task success by method; rows without a headline are left out, and the table says why."""
    rows = []
    for cell in cells:
        part = cell["by_domain"].get(domain) if domain else cell
        if part is None or numbers.withheld(part) or part["task_success"]["mean"] is None:
            continue
        name, value = cell["method"], part["task_success"]
        rows.append(
            IntervalRow(
                numbers.method_label(name), numbers.method_short(name), value["mean"], value["low"], value["high"],
                numbers.method_colour(name), hollow=simulated,
            )
        )  # fmt: skip
    return forest(rows)


def heat(cells: Sequence[Cell], domains: Sequence[Domain]) -> list[dict[str, Any]]:
    """One row a domain: task success of every method, with the shade (0 to 9) of its cell."""
    rows = []
    for domain in domains:
        parts = [cell["by_domain"].get(domain.slug) for cell in cells]
        if any(parts):
            rows.append({"domain": domain, "values": [_shaded(part, "task_success") for part in parts]})
    return rows


def _shaded(part: Mapping[str, Any] | None, measure: str) -> dict[str, Any]:
    """A measure of a part of a run with its shade; without a mean, and with the reason, where it has no headline."""
    value = part[measure] if part else {}
    why = numbers.withheld(part) if part else "no task"
    if part is None or why or value["mean"] is None:
        return {"mean": None, "shade": "none", "n": 0, "why": why or "nothing is scored"}
    shade = min(9, int(value["mean"] * 10))
    counts = {"n": part["evaluated"], "planned": part["planned"]}
    return {"mean": value["mean"], "shade": shade, "interval": numbers.interval(value), **counts}


def gap_table(funnel: Mapping[str, Sequence[Mapping[str, Any]]], methods: Sequence[str]) -> list[dict[str, Any]]:
    """One row a stage in the order of the course: share and number of failed preference checkpoints by method."""
    counts: dict[str, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for method, stages in funnel.items():
        for stage in stages:
            counts[stage["stage"]][method] = stage
    order = [stage for stage in numbers.STAGE_WORDS if stage in counts]
    none = {"count": 0, "share": 0.0}
    return [{"stage": s, "cells": [{"method": m, **counts[s].get(m, none)} for m in methods]} for s in order]


def pairs_of(paired: Sequence[Mapping[str, Any]], metric: str = "task_success") -> list[Mapping[str, Any]]:
    return [pair for pair in paired if pair["metric"] == metric]


def against(cells: Sequence[Cell], paired: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Task success of iba, or else of the first cell, against each other ranked method."""
    names = [cell["method"] for cell in cells if not cell.get("uses_gold")]
    if not names:
        return []
    leader = "iba" if "iba" in names else names[0]
    mine = (turned(pair, leader) for pair in pairs_of(paired) if leader in (pair["a"], pair["b"]))
    return sorted((pair for pair in mine if pair["b"] in names), key=lambda pair: names.index(pair["b"]))


def turned(pair: Mapping[str, Any], leader: str) -> Mapping[str, Any]:
    """The pair with ``leader`` first; the difference changes its sign with it."""
    if pair["a"] == leader or pair["difference"] is None:
        return pair if pair["a"] == leader else {**pair, "a": leader, "b": pair["a"]}
    turned = {"difference": -pair["difference"], "low": -pair["high"], "high": -pair["low"]}
    return {**pair, "a": leader, "b": pair["a"], **turned}


def success_by_scenario(run: Run, domain: Domain, split: str = "") -> list[dict[str, Any]]:
    """Task success by scenario of the domain and method: ``{slug, name, methods: {name: value}}``. One query."""
    units = (
        Unit.objects.filter(run=run, task__scenario__domain=domain, **_of_split("task", split))
        .order_by()
        .annotate(
            wanted=Count("trajectory__scores"),
            known=Count("trajectory__scores", filter=~Q(trajectory__scores__combined="")),
            passed=Count("trajectory__scores", filter=Q(trajectory__scores__combined="pass")),
        )
        .values_list("task__scenario__slug", "task__scenario__name", "method", "wanted", "known", "passed")
    )
    found: dict[tuple[str, str], dict[str, dict[str, int]]] = defaultdict(dict)
    for slug, name, method, wanted, known, passed in units:
        counts = found[(slug, name)].setdefault(method, {"planned": 0, "evaluated": 0, "passed": 0})
        counts["planned"] += 1
        if wanted and known == wanted:
            counts["evaluated"] += 1
            counts["passed"] += passed == wanted
    return [{"slug": slug, "name": name, "methods": _rates(methods)} for (slug, name), methods in sorted(found.items())]


def satisfaction_by_dimension(run: Run, domain: Domain, split: str = "") -> list[dict[str, Any]]:
    """Share of passed preference checkpoints by dimension and method, in tasks of the domain. Two queries."""
    units = Unit.objects.filter(run=run, task__scenario__domain=domain, task__checkpoints__kind="preference")
    planned = units.filter(**_of_split("task", split)).order_by().values_list("task__checkpoints__dimension", "method")
    scored = (
        CheckpointScore.objects.filter(trajectory__unit__run=run, checkpoint__task__scenario__domain=domain)
        .filter(checkpoint__kind="preference", combined__in=["pass", "fail"], **_of_split("checkpoint__task", split))
        .order_by()
        .values_list("checkpoint__dimension", "trajectory__unit__method")
        .annotate(evaluated=Count("pk"), passed=Count("pk", filter=Q(combined="pass")))
    )
    found: dict[str, dict[str, dict[str, int]]] = defaultdict(dict)
    for dimension, method, count in planned.annotate(count=Count("pk")):
        found[dimension][method] = {"planned": count, "evaluated": 0, "passed": 0}
    for dimension, method, evaluated, passed in scored:
        found[dimension][method] |= {"evaluated": evaluated, "passed": passed}
    return [{"slug": slug, "name": slug, "methods": _rates(methods)} for slug, methods in sorted(found.items())]


def _of_split(task: str, split: str) -> dict[str, str]:
    return {f"{task}__persona__split": split} if split else {}


def _rates(methods: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, Any]]:
    return {method: _shaded({**counts, "rate": _rate(counts)}, "rate") for method, counts in methods.items()}


def _rate(counts: Mapping[str, int]) -> dict[str, float | None]:
    return {"mean": counts["passed"] / counts["evaluated"] if counts["evaluated"] else None}
