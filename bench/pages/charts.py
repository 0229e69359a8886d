"""Charts as SVG, drawn on the server. Colours are CSS variables, so that one drawing serves both themes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil

from django.utils.safestring import SafeString, mark_safe

WIDE_PX = 600
NARROW_PX = 330


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """One line of a forest plot. ``colour`` is a CSS value; a hollow row is simulated."""

    label: str
    short: str  # the label where there is little room
    mean: float
    low: float
    high: float
    colour: str
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Forest:
    """The same drawing for wide and narrow pages; CSS shows one of them."""

    wide: SafeString
    narrow: SafeString


def forest(rows: Sequence[IntervalRow], *, low: float = 0.0, high: float = 1.0) -> Forest | None:
    """Means with their intervals, one row each in the given order, on an axis from ``low`` to ``high``."""
    if not rows:
        return None
    kept = tuple(rows)
    return Forest(
        _svg(kept, low, high, WIDE_PX), _svg(tuple(replace(row, label=row.short) for row in kept), low, high, NARROW_PX)
    )


def axis_end(rows: Sequence[IntervalRow]) -> float:
    """End of a symmetric axis for differences: the widest interval, rounded up to tenths; 0.2 to 1."""
    widest = max((max(abs(row.low), abs(row.high)) for row in rows), default=0.0)
    return min(1.0, max(0.2, ceil(round(widest * 10, 6)) / 10))


@lru_cache(maxsize=256)
def _svg(rows: tuple[IntervalRow, ...], low: float, high: float, width_px: int) -> SafeString:
    """Vega escapes every text that it writes. Screen readers get the table beside the drawing."""
    from bench.pages.drawing import interval_svg  # Altair takes a second to import; commands need none of it

    svg = interval_svg(rows, low, high, width_px).replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1)
    return mark_safe(svg)  # noqa: S308 (drawn here; tests hold the escaping of labels)
