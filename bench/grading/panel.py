"""Judge cards: where a judge can be trusted, by length, position and family, and against itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.grading.judges import is_own_family
from bench.grading.types import VerdictValue
from bench.statistics.agreement import Agreement, Coded, Codes, agreement_by_item, gwet_ac1, raw_agreement
from bench.statistics.bootstrap import Interval, agreement_interval
from bench.statistics.intervals import Difference, Measure, clustered_mean, paired_difference

LENGTH_EDGES = (500, 1500, 4000)  # characters of the candidate
MENU = (VerdictValue.PASS, VerdictValue.FAIL)


@dataclass(frozen=True, slots=True)
class Judged:
    """All verdicts of one judge beside what they are compared with: arrays with an entry an item.

    ``value``, ``reference`` (what humans decided) and ``again`` (the judge's
    verdict before, on the same prompt) are indexes into MENU, -1 where nothing
    is decided. ``position`` counts the task's checkpoints from 1.
    """

    judge: str
    persona: Codes
    own_family: npt.NDArray[np.bool_]
    candidate_chars: Codes
    position: Codes
    calls: npt.NDArray[np.bool_]
    value: Codes
    reference: Codes
    again: Codes


@dataclass(frozen=True, slots=True)
class CardRow:
    """Agreement of one judge within one group: ``raw`` 0..1, ``ac1`` -1..1, each with a reason if undefined.

    ``rate_gap`` (-1..1) is its pass rate minus the reference's, so above 0 is
    lenient; without values where nothing is compared. Intervals are clustered by persona.
    """

    judge: str
    split: str
    group: str
    raw: Agreement
    ac1: Agreement
    rate_gap: Difference
    raw_interval: Measure
    ac1_interval: Interval


def by_length(judges: Iterable[Judged], edges: Sequence[int] = LENGTH_EDGES) -> tuple[CardRow, ...]:
    """Agreement with humans by length of the candidate; a group holds lengths below its edge."""
    bounds = sorted(edges)
    tops = [*(str(edge - 1) for edge in bounds), "more"]
    names = [f"{i + 1}: {low} to {top} characters" for i, (low, top) in enumerate(zip([0, *bounds], tops, strict=True))]
    rows = []
    for judged in judges:
        group = np.searchsorted(bounds, judged.candidate_chars, side="right")
        rows += _rows(judged, "length", group, names, judged.reference)
    return _in_order(rows)


def by_position(judges: Iterable[Judged]) -> tuple[CardRow, ...]:
    """Agreement with humans by the checkpoint's place in its task."""
    rows = []
    for judged in judges:
        names = [f"{place:02d}" for place in range(int(judged.position.max(initial=0)) + 1)]
        rows += _rows(judged, "position", judged.position, names, judged.reference)
    return _in_order(rows)


def by_family(judges: Iterable[Judged]) -> tuple[CardRow, ...]:
    """Agreement with humans on candidates of the judge's own model family and of others."""
    rows = []
    for judged in judges:
        group = judged.own_family.astype(np.int64)
        rows += _rows(judged, "family", group, ["other family", "own family"], judged.reference)
    return _in_order(rows)


def by_action(judges: Iterable[Judged]) -> tuple[CardRow, ...]:
    """Agreement with humans on texts and on calls."""
    rows = []
    for judged in judges:
        rows += _rows(judged, "tasks", judged.calls.astype(np.int64), ["texts", "calls"], judged.reference)
    return _in_order(rows)


def against_itself(judges: Iterable[Judged]) -> tuple[CardRow, ...]:
    """Agreement of a judge with itself on the same prompt."""
    rows = []
    for judged in judges:
        rows += _rows(judged, "test-retest", np.zeros_like(judged.value), ["all"], judged.again)
    return _in_order(rows)


def _in_order(rows: Iterable[CardRow]) -> tuple[CardRow, ...]:
    return tuple(sorted(rows, key=lambda row: (row.judge, row.group)))


def _rows(judged: Judged, split: str, group: Codes, names: Sequence[str], other: Codes) -> list[CardRow]:
    """One row a group that has an item; ``group`` holds each item's index into ``names``."""
    return [_row(judged, split, names[number], group == number, other) for number in np.unique(group)]


def _row(judged: Judged, split: str, name: str, here: npt.NDArray[np.bool_], other: Codes) -> CardRow:
    ratings, persona = Coded(np.stack([judged.value[here], other[here]]), MENU), judged.persona[here]
    both = (ratings.codes >= 0).all(axis=0)
    passed = (ratings.codes[:, both] == MENU.index(VerdictValue.PASS)).astype(float)
    raw, ac1 = raw_agreement(ratings), gwet_ac1(ratings, MENU)
    return CardRow(
        judge=judged.judge,
        split=split,
        group=name,
        raw=raw,
        ac1=ac1,
        rate_gap=paired_difference(passed[0].tolist(), passed[1].tolist(), persona[both].tolist()),
        raw_interval=clustered_mean(agreement_by_item(ratings), persona.tolist()),
        ac1_interval=Interval(None, None, ac1.reason, 0) if ac1.reason else agreement_interval("ac1", ratings, persona),
    )


def panel_warnings(judges: Sequence[Mapping[str, object]], agent: Mapping[str, object]) -> list[str]:
    """What makes a panel weaker than it looks, a sentence each. Judges and agent as a manifest names them."""
    named = Counter(str(judge["slug"]) for judge in judges)
    distinct = list({str(judge["slug"]): judge for judge in judges}.values())
    found = [
        f"{name} is named {count} times in the panel; it has one vote." for name, count in named.items() if count > 1
    ]
    if len(distinct) == 1:
        found.append(f"The panel has one judge, {distinct[0]['slug']}: its errors are the scores' errors.")
    if len(distinct) == 2:
        names = " and ".join(str(judge["slug"]) for judge in distinct)
        found.append(f"The panel has two judges, {names}: where they differ, there is no majority.")
    for what, words in (("model", "are the same model"), ("family", "are of one family")):
        for value, group in _alike(distinct, what).items():
            found.append(f"{' and '.join(group)} {words}, {value}: they tend to err together.")
    own = [str(j["slug"]) for j in distinct if is_own_family(str(j.get("family", "")), str(agent.get("family", "")))]
    if own:
        found.append(f"{' and '.join(own)}: of the agent's own family, {agent['family']}; it may favour its kind.")
    return found


def _alike(judges: Sequence[Mapping[str, object]], what: str) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for judge in judges:
        if value := str(judge.get(what, "")).strip().casefold():
            groups.setdefault(value, []).append(str(judge["slug"]))
    return {value: names for value, names in groups.items() if len(names) > 1}
