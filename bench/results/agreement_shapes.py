"""What the agreement report holds, as JSON values."""

from __future__ import annotations

from typing import TypedDict

from bench.results.panel_votes import PanelReport


class Bounds(TypedDict):
    """Of a 95% interval; None where ``reason`` says why there is none."""

    low: float | None
    high: float | None
    reason: str | None


class Agreed(TypedDict):
    """How far raters agree over ``n`` items. A measure is None where undefined, and ``reasons`` says why.

    ``low`` and ``high`` are those of AC1, as in ``intervals``, which has all five.
    """

    n: int
    raw: float | None
    ac1: float | None
    alpha: float | None
    kappa: float | None
    prevalence: float | None
    low: float | None
    high: float | None
    reasons: dict[str, str]
    intervals: dict[str, Bounds]


class PairRow(Agreed):
    a: str
    b: str
    kind: str


class TogetherRow(Agreed):
    """All raters of a kind together."""

    kind: str
    raters: int


class GroupRow(TogetherRow):
    """The same within one ``group`` of the grouping ``by``."""

    by: str
    group: str


class Card(TypedDict):
    """One judge within one group, against humans or (test-retest) itself. ``rate_gap``: above 0 is lenient."""

    judge: str
    split: str
    group: str
    n: int
    raw: float | None
    ac1: float | None
    rate_gap: float | None
    reason: str | None
    intervals: dict[str, Bounds]


class Narrowed(PanelReport):
    """What the report says of the checkpoints of one kind of action, or of all."""

    pairs: list[PairRow]
    overall: list[TogetherRow]
    groups: list[GroupRow]
    judges: list[Card]


class Report(Narrowed):
    """The agreement report of a run as JSON values; nothing in it is NaN.

    ``pairs``: every two raters with a common item. ``overall``: a kind over all
    its raters together (kappa is Fleiss' there). ``groups``: the same by
    GROUPINGS. ``effective_votes``: the independent votes that the panel is worth, or
    None; ``panel``: each judge beside the humans, and why it is left out
    there. ``warnings``: what makes the panel weak. ``judges``: cards by
    length, position, family, kind of action and test-retest. ``by_action``: all of that for
    the tasks of each kind of action.
    """

    format: int
    run_id: int
    rubric_version: str
    simulated: bool
    warnings: list[str]
    by_action: dict[str, Narrowed]
