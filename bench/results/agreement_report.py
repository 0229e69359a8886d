"""Who agrees with whom in one run: the numbers of the agreement page and of the ``agreement`` command.

A rating is a pass or a fail. "Cannot judge" and unscored are missing ratings
and agree with nothing. Intervals are of AC1, clustered by persona.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.grading import panel
from bench.grading.panel import MENU
from bench.grading.types import VerdictSource, VerdictValue
from bench.models import CheckpointScore, Run, Verdict
from bench.results.kept import FORMAT, keep
from bench.results.panel_votes import panel_report, rounded
from bench.statistics.agreement import (
    Agreement,
    Coded,
    Codes,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    prevalence,
    raw_agreement,
)
from bench.statistics.bootstrap import agreement_interval

GROUPINGS = ("domain", "scenario", "dimension", "checkpoint_kind")
PASS, FAIL = range(len(MENU))
UNDECIDED, ABSENT = -1, -2

Rater = tuple[str, str]  # (source, name)


@dataclass(frozen=True, slots=True)
class _Items:
    """Every scored checkpoint of a run, an entry each: what it belongs to, and what humans decided of it."""

    trajectory: Codes
    checkpoint: Codes
    persona: Codes
    position: Codes  # of the checkpoint in its task, from 1
    humans: Codes  # index into MENU, UNDECIDED where raters and adjudication decided nothing
    candidate_chars: Codes
    groups: dict[str, list[str]]  # grouping -> the name of each item's group


@dataclass(frozen=True, slots=True)
class _Given:
    """All that the verdict table says of a run under one rubric version. The tables are (raters, items)."""

    items: _Items
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


def agreement_of(run: Run) -> dict[str, Any]:
    """The agreement report of a run as in ``measure_agreement``, kept until something changes: see kept.py."""
    return keep(run, "agreement", measure_agreement)


def measure_agreement(run: Run) -> dict[str, Any]:
    """The agreement report of a run, computed anew, as JSON values; nothing in it is NaN.

    ``pairs``: one row for every two raters with a common item. ``overall``:
    one row a kind over all its raters together (kappa is Fleiss' there).
    ``groups``: the same by domain, scenario, dimension and checkpoint kind.
    A measure is null where undefined, and ``reasons`` says why.
    ``effective_votes`` is the number of independent votes that the panel is
    worth, or null; ``panel``: each judge beside the humans, and why it is left
    out there. ``warnings``: what makes the panel weak. ``judges``: cards by
    length, position, family and test-retest.
    """
    version = _newest_rubric(run)
    given = _read(run, version)
    kinds = _kinds(given)
    judges = given.of(VerdictSource.JUDGE)
    names, panel_names = [given.raters[row][1] for row in judges], run.manifest["policy"]["panel"]
    everything = np.arange(len(given.items.trajectory))
    return {
        "format": FORMAT,
        "run_id": run.pk,
        "rubric_version": version,
        "simulated": run.simulated or given.simulated,
        "pairs": list(_pairs(given)),
        "overall": [_together(given, kind, sides, everything) for kind, sides in kinds],
        "groups": list(_groups(given, kinds)),
        **panel_report(panel_names, names, given.decided[judges], given.items.humans, given.items.persona),
        "warnings": panel.panel_warnings(run.manifest["judges"], run.manifest.get("model", {})),
        "judges": [_card(row) for row in _cards(given)],
    }


def _newest_rubric(run: Run) -> str:
    versions = (
        Verdict.objects.filter(trajectory__unit__run=run).order_by("-id").values_list("rubric_version", flat=True)
    )
    return versions.first() or ""


def _read(run: Run, version: str) -> _Given:
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
    return _Given(
        items,
        raters,
        _table(shape, cell[latest], said[latest]),
        _table(shape, cell[earlier], said[earlier]),
        own_family.reshape(shape),
        any(simulated),
    )


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


def _places(items: _Items, trajectory: Codes, checkpoint: Codes) -> Codes:
    """Which item each verdict is about; -1 where the trajectory is not scored yet."""
    size = len(items.trajectory)
    if not size:
        return np.full(len(trajectory), -1, dtype=np.int64)
    width = int(max(items.checkpoint.max(), checkpoint.max(initial=0))) + 1
    known, asked = items.trajectory * width + items.checkpoint, trajectory * width + checkpoint
    order = np.argsort(known)
    at = np.minimum(np.searchsorted(known, asked, sorter=order), size - 1)
    return np.where(known[order[at]] == asked, order[at], -1)


def _read_items(run: Run) -> _Items:
    task = "trajectory__unit__task__"
    fields = (
        "trajectory_id",
        "checkpoint_id",
        "human",
        "checkpoint__position",
        f"{task}persona_id",
        f"{task}scenario__domain__slug",
        f"{task}scenario__slug",
        "checkpoint__dimension",
        "checkpoint__kind",
    )
    rows = CheckpointScore.objects.filter(trajectory__unit__run=run).order_by("pk").values_list(*fields)
    columns = _columns(rows, len(fields))
    trajectory, checkpoint, human, place, persona, domain, scenario, dimension, kind = columns
    chars = _candidate_chars(run)
    grouped = [domain, [f"{d}.{s}" for d, s in zip(domain, scenario, strict=True)], dimension, kind]
    codes = {VerdictValue.PASS.value: PASS, VerdictValue.FAIL.value: FAIL}
    return _Items(
        trajectory=np.array(trajectory, dtype=np.int64),
        checkpoint=np.array(checkpoint, dtype=np.int64),
        persona=np.array(persona, dtype=np.int64),
        position=np.array(place, dtype=np.int64) + 1,
        humans=np.array([codes.get(one, UNDECIDED) for one in human], dtype=np.int64),
        candidate_chars=np.array([chars.get(one, 0) for one in trajectory], dtype=np.int64),
        groups={by: list(names) for by, names in zip(GROUPINGS, grouped, strict=True)},
    )


def _candidate_chars(run: Run) -> dict[int, int]:
    """Trajectory -> length of its text or of its arguments as JSON."""
    actions = run.units.filter(trajectory__isnull=False).values_list("trajectory__pk", "trajectory__data__action")
    return {pk: len(act["text"] or json.dumps(act["arguments"])) if act else 0 for pk, act in actions}


def _kinds(given: _Given) -> list[tuple[str, Codes]]:
    """Kind -> the ratings compared: all raters, all judges, or what humans decided beside the panel or the rules."""
    humans, judges, rules = (given.decided[given.of(s)] for s in ("human", "judge", "rule"))
    nobody = humans[:0]
    beside_judges = np.stack([given.items.humans, _majority(judges)]) if len(judges) else nobody
    beside_rules = np.vstack([given.items.humans, rules]) if len(rules) else nobody
    return [
        ("human-human", humans), ("judge-judge", judges), ("human-judge", beside_judges), ("human-rule", beside_rules)
    ]  # fmt: skip


def _majority(judges: Codes) -> Codes:
    """The value that more than half of the judges give; an item without one is missing."""
    found = np.full(judges.shape[1], UNDECIDED, dtype=np.int64)
    for code in (PASS, FAIL):
        found[(judges == code).sum(axis=0) * 2 > len(judges)] = code
    return found


def _pairs(given: _Given) -> Iterable[dict[str, Any]]:
    order = [row for source in ("human", "judge", "rule") for row in given.of(source)]
    for a, b in combinations(order, 2):
        sides = given.decided[[a, b]]
        both = np.flatnonzero((sides >= 0).all(axis=0))
        if len(both):
            (source_a, name_a), (source_b, name_b) = given.raters[a], given.raters[b]
            yield {"a": name_a, "b": name_b, "kind": f"{source_a}-{source_b}", **_numbers(given, sides, both)}


def _groups(given: _Given, kinds: Sequence[tuple[str, Codes]]) -> Iterable[dict[str, Any]]:
    for by in GROUPINGS:
        names, group = np.unique(np.array(given.items.groups[by], dtype=object), return_inverse=True)
        for number, name in enumerate(names):
            members = np.flatnonzero(group == number)
            for kind, sides in kinds:
                row = _together(given, kind, sides, members)
                if name and row["n"]:
                    yield {"by": by, "group": name, **row}


def _together(given: _Given, kind: str, sides: Codes, items: Codes) -> dict[str, Any]:
    """All sides of a kind at once, over the items that two or more of them rated: n is that of every number."""
    rated = items[(sides[:, items] >= 0).sum(axis=0) >= 2]
    return {"kind": kind, "raters": len(sides), **_numbers(given, sides, rated)}


def _numbers(given: _Given, sides: Codes, items: Codes) -> dict[str, Any]:
    ratings = Coded(sides[:, items], MENU)
    kappa = cohen_kappa if len(sides) == 2 else fleiss_kappa
    found: dict[str, Agreement] = {
        "raw": raw_agreement(ratings),
        "ac1": gwet_ac1(ratings, MENU),
        "alpha": krippendorff_alpha(ratings),
        "kappa": kappa(ratings),
        "prevalence": prevalence(ratings, VerdictValue.PASS),
    }
    interval = agreement_interval("ac1", ratings, given.items.persona[items]) if len(items) else None
    reasons = {name: result.reason for name, result in found.items() if result.reason}
    if interval is None or interval.reason:
        reasons["interval"] = interval.reason if interval and interval.reason else reasons["ac1"]
    return {
        "n": found["raw"].n,
        **{name: rounded(result.value) for name, result in found.items()},
        "low": rounded(interval.low) if interval else None,
        "high": rounded(interval.high) if interval else None,
        "reasons": reasons,
    }


def _cards(given: _Given) -> Iterable[panel.CardRow]:
    judges = [_judged(given, row) for row in given.of(VerdictSource.JUDGE)]
    splits: tuple[Callable[[Iterable[panel.Judged]], tuple[panel.CardRow, ...]], ...] = (
        panel.by_length,
        panel.by_position,
        panel.by_family,
        panel.against_itself,
    )
    for split in splits:
        yield from split(judges)


def _judged(given: _Given, row: int) -> panel.Judged:
    items = given.items
    here = given.values[row] != ABSENT
    return panel.Judged(
        judge=given.raters[row][1],
        own_family=given.own_family[row, here],
        candidate_chars=items.candidate_chars[here],
        position=items.position[here],
        value=given.decided[row, here],
        reference=items.humans[here],
        again=np.maximum(given.before[row, here], UNDECIDED),
    )


def _card(row: panel.CardRow) -> dict[str, Any]:
    return {
        **asdict(row),
        "raw": rounded(row.raw.value),
        "ac1": rounded(row.ac1.value),
        "n": row.raw.n,
        "reason": row.raw.reason,
        "rate_gap": rounded(row.rate_gap),
    }
