"""What a run amounts to: one cell a method, paired differences, and where the gap opens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

from bench.grading.coverage import JudgeCoverage, judge_coverage
from bench.models import Run
from bench.results.cells import Cell, by_action, cell
from bench.results.human import MethodEstimate, human_calibrated
from bench.results.kept import FORMAT, keep, remember
from bench.results.losses import LossCount, LostAt, loss_counts, losses_by_persona, lost_at
from bench.results.pairs import (
    Pair,
    pairs,
    pairs_by_action,
    pairs_by_domain,
    pairs_by_domain_and_action,
    without_verdict,
)
from bench.results.rows import ACTIONS, SPLITS, VIEWS, Row, rows_by_view
from bench.statistics.intervals import MeasureJson, clustered_mean

ByMethod = Mapping[str, Sequence[Row]]


class Success(TypedDict):
    task_success: MeasureJson
    evaluated: int
    planned: int


class ViewSuccess(Success):
    by_action: dict[str, Success]


class Results(TypedDict):
    """The numbers of a run as JSON values; a page needs nothing else.

    ``cells``: one a method. ``paired``: every two methods and metric, again ``paired_by_action`` where tasks are of
    two kinds, and ``paired_by_domain`` for task success, with the same of each kind in the domains that have both.
    ``views``: view -> method -> task success. ``losses``: the counts of preference checkpoints, ``lost_at``: domain, or
    "" for all -> method -> stages, ``lost_at_by_action``: kind of action -> the same; all of combined scores.
    ``judges``: how much of what it was asked each judge answered, of the whole run.
    """

    format: int
    view: str
    split: str
    action: str
    human_calibrated: dict[str, MethodEstimate]
    views: dict[str, dict[str, ViewSuccess]]
    cells: list[Cell]
    paired: list[Pair]
    paired_by_action: list[Pair]
    paired_by_domain: list[Pair]
    paired_by_domain_and_action: list[Pair]
    losses: list[LossCount]
    lost_at: LostAt
    lost_at_by_action: dict[str, LostAt]
    judges: list[JudgeCoverage]


def results_of(run: Run, view: str = "combined", split: str = "", action: str = "") -> Results:
    """What ``compute`` returns, kept until something that it is made of changes: see kept.py."""
    _check(view, split, action)
    if (view, split, action) == ("combined", "", ""):
        return keep(run, "results", compute)
    name = f"results-{view}-{split}-{action}"
    return remember(name, (run,), lambda: compute(run, view, split, action))


def compute(run: Run, view: str = "combined", split: str = "", action: str = "") -> Results:
    """What a run amounts to, computed anew.

    ``view``: combined, ai or human. ``split``: dev or test. ``action``: generate or call_api. "" is all of them.
    """
    _check(view, split, action)
    sides = {name: _by_method(run, rows, split, action) for name, rows in rows_by_view(run).items()}
    by_method = sides[view]
    paired = (
        pairs(by_method),
        pairs_by_action(by_method),
        pairs_by_domain(by_method),
        pairs_by_domain_and_action(by_method),
    )
    if run.simulated:
        for rows in paired:
            without_verdict(rows)
    losses = losses_by_persona(run, split, action)
    return {
        "format": FORMAT,
        "view": view,
        "split": split,
        "action": action,
        "human_calibrated": human_calibrated(sides["human"], sides["ai"]),
        "views": {name: _successes(side) for name, side in sides.items()},
        "cells": [cell(run, method, rows) for method, rows in by_method.items()],
        "paired": paired[0],
        "paired_by_action": paired[1],
        "paired_by_domain": paired[2],
        "paired_by_domain_and_action": paired[3],
        "losses": loss_counts(losses),
        "lost_at": lost_at(losses),
        "lost_at_by_action": {
            kind: lost_at(mine) for kind in ACTIONS if (mine := [loss for loss in losses if loss.action == kind])
        },
        "judges": judge_coverage(run),
    }


def _check(view: str, split: str, action: str) -> None:
    """Raises ValueError for what is not there."""
    menus = (("view", view, VIEWS), ("split", split, ("", *SPLITS)), ("action", action, ("", *ACTIONS)))
    for what, given, allowed in menus:
        if given not in allowed:
            raise ValueError(f"{what} {given!r} is not known; allowed: {', '.join(filter(None, allowed))}")


def _by_method(run: Run, rows: Iterable[Row], split: str, action: str) -> dict[str, list[Row]]:
    """The rows of each method that has one, in the order of the manifest."""
    found: dict[str, list[Row]] = {method: [] for method in run.manifest["methods"]}
    for row in rows:
        if split in ("", row.split) and action in ("", row.action):
            found[row.method].append(row)
    return {method: rows for method, rows in found.items() if rows}


def _successes(by_method: ByMethod) -> dict[str, ViewSuccess]:
    return {
        method: ViewSuccess(
            by_action={action: _success(mine) for action, mine in by_action(rows).items()}, **_success(rows)
        )
        for method, rows in by_method.items()
    }


def _success(rows: Sequence[Row]) -> Success:
    measure = clustered_mean([row.task_success for row in rows], [row.persona_id for row in rows])
    return Success(task_success=measure.to_json(), evaluated=measure.n, planned=len(rows))
