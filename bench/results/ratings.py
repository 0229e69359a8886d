"""All ratings of a run as arrays: who said what of which checkpoint, and what it belongs to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.grading.panel import MENU
from bench.grading.types import VerdictSource, VerdictValue
from bench.models import CheckpointScore, Run, Verdict
from bench.results.rows import ACTIONS
from bench.statistics.agreement import Codes

GROUPINGS = ("domain", "action_kind", "scenario", "dimension", "checkpoint_kind")
PASS, FAIL = range(len(MENU))
UNDECIDED, ABSENT = -1, -2

Rater = tuple[str, str]  # (source, name)


@dataclass(frozen=True, slots=True)
class Items:
    """Every scored checkpoint of a run, an entry each: what it belongs to, and what humans decided of it."""

    trajectory: Codes
    checkpoint: Codes
    persona: Codes
    position: Codes  # of the checkpoint in its task, from 1
    action: Codes  # index into ACTIONS
    humans: Codes  # index into MENU, UNDECIDED where raters and adjudication decided nothing
    candidate_chars: Codes
    groups: dict[str, list[str]]  # grouping -> the name of each item's group


@dataclass(frozen=True, slots=True)
class Given:
    """All that the verdict table says of a run under one rubric version. The tables are (raters, items)."""

    items: Items
    raters: list[Rater]
    values: Codes  # index into MENU, UNDECIDED for cannot judge, ABSENT where nothing was said
    before: Codes  # the same of the verdict before the latest
    own_family: npt.NDArray[np.bool_]
    simulated: bool

    @property
    def decided(self) -> Codes:
        """``values`` where all that is no pass or fail is missing."""
        return np.maximum(self.values, UNDECIDED)

    def of(self, source: str) -> list[int]:
        """The rows of a source, by name."""
        return [row for row, rater in enumerate(self.raters) if rater[0] == source]


def newest_rubric(run: Run) -> str:
    versions = (
        Verdict.objects.filter(trajectory__unit__run=run).order_by("-id").values_list("rubric_version", flat=True)
    )
    return versions.first() or ""


def read_ratings(run: Run, version: str) -> Given:
    items = _read_items(run)
    rows = Verdict.objects.filter(trajectory__unit__run=run, rubric_version=version).exclude(value="")
    rows = rows.exclude(source=VerdictSource.ADJUDICATION).order_by("id")
    fields = ("source", "name", "trajectory_id", "checkpoint_id", "value", "own_family", "simulated")
    source, name, trajectory, checkpoint, value, own, simulated = _columns(rows.values_list(*fields), len(fields))
    raters = sorted(set(zip(source, name, strict=True)))
    number = {rater: row for row, rater in enumerate(raters)}
    codes = {VerdictValue.PASS.value: PASS, VerdictValue.FAIL.value: FAIL, VerdictValue.CANNOT_JUDGE.value: UNDECIDED}
    rater_of = np.array([number[rater] for rater in zip(source, name, strict=True)], dtype=np.int64)
    said = np.array([codes[one] for one in value], dtype=np.int64)
    place = _places(items, np.array(trajectory, dtype=np.int64), np.array(checkpoint, dtype=np.int64))
    size = len(items.trajectory)
    cell = np.where(place >= 0, rater_of * size + place, -1)
    latest = _last(cell)
    earlier = np.setdiff1d(np.arange(len(cell)), latest)
    earlier = earlier[_last(cell[earlier])]
    own_family = np.zeros(len(raters) * size, dtype=bool)
    own_family[cell[latest]] = np.array(own, dtype=bool)[latest]
    shape = len(raters), size
    return Given(
        items,
        raters,
        _table(shape, cell[latest], said[latest]),
        _table(shape, cell[earlier], said[earlier]),
        own_family.reshape(shape),
        any(simulated),
    )


def narrowed(given: Given, items: Codes) -> Given:
    """The same of some items only, by their numbers."""
    whole = given.items
    few = Items(
        trajectory=whole.trajectory[items],
        checkpoint=whole.checkpoint[items],
        persona=whole.persona[items],
        position=whole.position[items],
        action=whole.action[items],
        humans=whole.humans[items],
        candidate_chars=whole.candidate_chars[items],
        groups={by: [names[item] for item in items] for by, names in whole.groups.items()},
    )
    values, before, own = given.values[:, items], given.before[:, items], given.own_family[:, items]
    return replace(given, items=few, values=values, before=before, own_family=own)


def _columns(rows: Iterable[Sequence[Any]], count: int) -> list[Sequence[Any]]:
    """Rows turned on their side; ``count`` empty columns where there is no row."""
    return list(zip(*rows, strict=True)) or [()] * count


def _last(cell: Codes) -> Codes:
    """Of the verdicts on each cell the last one, as indexes into ``cell``; -1 is no cell."""
    cells, from_the_end = np.unique(cell[::-1], return_index=True)
    return len(cell) - 1 - from_the_end[cells >= 0]


def _table(shape: tuple[int, int], cell: Codes, value: Codes) -> Codes:
    table = np.full(shape[0] * shape[1], ABSENT, dtype=np.int64)
    table[cell] = value
    return table.reshape(shape)


def _places(items: Items, trajectory: Codes, checkpoint: Codes) -> Codes:
    """Which item each verdict is about; -1 where the trajectory is not scored yet."""
    size = len(items.trajectory)
    if not size:
        return np.full(len(trajectory), -1, dtype=np.int64)
    width = int(max(items.checkpoint.max(), checkpoint.max(initial=0))) + 1
    known, asked = items.trajectory * width + items.checkpoint, trajectory * width + checkpoint
    order = np.argsort(known)
    at = np.minimum(np.searchsorted(known, asked, sorter=order), size - 1)
    return np.where(known[order[at]] == asked, order[at], -1)


def _read_items(run: Run) -> Items:
    task = "trajectory__unit__task__"
    fields = (
        "trajectory_id",
        "checkpoint_id",
        "human",
        "checkpoint__position",
        f"{task}persona_id",
        f"{task}scenario__domain__slug",
        f"{task}scenario__action_kind",
        f"{task}scenario__slug",
        "checkpoint__dimension",
        "checkpoint__kind",
    )
    rows = CheckpointScore.objects.filter(trajectory__unit__run=run).order_by("pk").values_list(*fields)
    columns = _columns(rows, len(fields))
    trajectory, checkpoint, human, place, persona, domain, action, scenario, dimension, kind = columns
    chars = _candidate_chars(run)
    grouped = [domain, action, [f"{d}.{s}" for d, s in zip(domain, scenario, strict=True)], dimension, kind]
    codes = {VerdictValue.PASS.value: PASS, VerdictValue.FAIL.value: FAIL}
    return Items(
        trajectory=np.array(trajectory, dtype=np.int64),
        checkpoint=np.array(checkpoint, dtype=np.int64),
        persona=np.array(persona, dtype=np.int64),
        position=np.array(place, dtype=np.int64) + 1,
        action=np.array([ACTIONS.index(one) for one in action], dtype=np.int64),
        humans=np.array([codes.get(one, UNDECIDED) for one in human], dtype=np.int64),
        candidate_chars=np.array([chars.get(one, 0) for one in trajectory], dtype=np.int64),
        groups={by: list(names) for by, names in zip(GROUPINGS, grouped, strict=True)},
    )


def _candidate_chars(run: Run) -> dict[int, int]:
    """Trajectory -> length of its text or of its arguments as JSON."""
    actions = run.units.filter(trajectory__isnull=False).values_list("trajectory__pk", "trajectory__data__action")
    return {pk: len(act["text"] or json.dumps(act["arguments"])) if act else 0 for pk, act in actions}
