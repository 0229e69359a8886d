"""How many preference checkpoints of a kind two methods satisfied."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import TypedDict

from bench.generation.spec import Tier
from bench.pages.queries.compare import Side
from bench.results.losses import Loss, remembered_losses, share_where
from bench.results.rows import ACTIONS
from bench.statistics.intervals import MeasureJson


class Rate(TypedDict):
    """Satisfied share of some preference checkpoints; None for a side that has none."""

    a: MeasureJson | None
    b: MeasureJson | None


class KindRate(Rate):
    """Those of one kind. ``parts``: kind of action -> the same, where both kinds of action have some."""

    kind: str
    slug: str
    parts: dict[str, Rate]


def conflict_rates(a: Side, b: Side, action: str = "") -> list[KindRate]:
    """One row a kind of conflict, no conflict first."""
    found = _rates(a, b, action, lambda loss: loss.conflict)
    kinds = sorted(found, key=lambda kind: (kind != "", kind))
    return [{"kind": kind or "no conflict", "slug": kind or "none", **_split(found[kind])} for kind in kinds]


def tier_rates(a: Side, b: Side, action: str = "") -> list[KindRate]:
    """One row a tier, the plainest first; none where the checkpoints have no tiers."""
    found = _rates(a, b, action, lambda loss: loss.tier)
    return [{"kind": tier, "slug": tier, **_split(found[tier])} for tier in Tier if tier in found]


class _Split(Rate):
    parts: dict[str, Rate]


def _split(rates: Mapping[str, Rate]) -> _Split:
    parts = {kind: rate for kind, rate in rates.items() if kind}
    return {**rates[""], "parts": parts if len(parts) > 1 else {}}


def _rates(a: Side, b: Side, action: str, kind: Callable[[Loss], str]) -> dict[str, dict[str, Rate]]:
    """Kind -> kind of action, "" for all -> the shares of both sides."""
    found: dict[str, dict[str, Rate]] = defaultdict(dict)
    for among in ("", *ACTIONS):
        if action and among not in ("", action):
            continue
        first, second = (_shares(side, among or action, kind) for side in (a, b))
        for name in {*first, *second}:
            found[name][among] = {"a": first.get(name), "b": second.get(name)}
    return found


def _shares(side: Side, action: str, kind: Callable[[Loss], str]) -> dict[str, MeasureJson]:
    found: dict[str, list[tuple[Loss, bool]]] = defaultdict(list)
    for loss in remembered_losses(side.run):
        if loss.method == side.method and action in ("", loss.action) and loss.combined in ("pass", "fail"):
            found[kind(loss)].append((loss, loss.combined == "pass"))
    return {kind: share_where(marked).to_json() for kind, marked in found.items()}
