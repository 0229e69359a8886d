"""Which of two preferences goes first where nothing has both: out of records, and in the reader's own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from agents.contract import JSON
from bench.caching import made_once
from bench.generation.resolve import Shown
from bench.reader.knowledge import dimensions

if TYPE_CHECKING:
    from bench.reader.view import View

Pair = tuple[str, str]  # the dimension that goes first, the one that gives way
_SAID = re.compile(r"If nothing has both, (.+) comes before (.+?)\.")


def said(pair: Pair) -> str:
    """In words that ``heard`` reads back."""
    first, second = (dimensions()[dimension].name for dimension in pair)
    return f"If nothing has both, {first} comes before {second}."


def heard(text: str) -> Pair | None:
    match = _SAID.search(text)
    named = [_by_name().get(name) for name in match.groups()] if match else []
    return (named[0], named[1]) if len(named) == 2 and named[0] and named[1] else None


@made_once()
def _by_name() -> dict[str, str]:
    return {dimension.name: reference for reference, dimension in dimensions().items()}


def orders_in(shown: Iterable[Shown], texts: Iterable[str]) -> frozenset[Pair]:
    """Those that records show and those that texts say, without any that is shown both ways."""
    found = {(one.dimension, one.group) for one in shown if one.role == "record"}
    found |= {pair for text in texts if (pair := heard(text))}
    return frozenset((first, second) for first, second in found if (second, first) not in found)


def insisted(
    wanted: Mapping[str, str], fields: Mapping[str, str], items: Sequence[JSON], orders: frozenset[Pair]
) -> dict[str, str]:
    """Field -> option wanted, without those that give way. ``fields``: field -> the dimension that it is about."""
    by_dimension = {dimension: name for name, dimension in fields.items() if name in wanted}
    given_up: set[str] = set()
    for first, second in orders:
        pair = [by_dimension.get(first, ""), by_dimension.get(second, "")]
        met = any(all(_alike(item.get(name), wanted[name]) for name in pair) for item in items) if all(pair) else True
        given_up |= set() if met else {pair[1]}
    return {name: option for name, option in wanted.items() if name not in given_up}


def _alike(one: object, other: str) -> bool:
    return str(one).casefold() == other.casefold()


def order_rows(view: View) -> list[JSON]:
    """One constraint for each order that records show between two preferences of the request."""
    rows: list[JSON] = []
    told = {heard(text) for _, text in view.prompt.labelled("Constraints")}
    for pair in sorted(view.orders - told):
        known = [k for k in view.known if (k.shown.role, k.shown.dimension, k.shown.group) == ("record", *pair)]
        if known and set(pair) <= set(view.dimensions):
            rows.append(
                {
                    "about": f"{dimensions()[pair[0]].name} and {dimensions()[pair[1]].name}",
                    "value": "",
                    "dimension": pair[0],
                    "text": said(pair),
                    "polarity": "for",
                    "kind": "trait",
                    "scope": "",
                    "valid_from": min(k.shown.on for k in known).isoformat(),
                    "valid_until": "",
                    "strength": 0.9,
                    "evidence": [k.label for k in known if k.label][:4],
                    "counter": said((pair[1], pair[0])),
                }
            )
    return rows
