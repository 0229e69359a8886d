"""One gate: what must hold of a dataset, what was found, and who breaks it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

SHOWN = 20  # offenders by name


class GateRow(TypedDict):
    """``low`` and ``high`` are null where the value is a count. ``blocks``: no run on a dataset that breaks it."""

    name: str
    value: float
    limit: str
    n: int
    low: float | None
    high: float | None
    passed: bool
    blocks: bool
    offenders: list[str]


@dataclass(frozen=True)
class Gate:
    """``value`` was found among ``n`` things, ``limit`` says what is allowed.

    ``blocks``: what breaks it makes answers wrong or tells them. The others say that a dataset's mix is poor.
    """

    name: str
    value: float
    limit: str
    n: int
    passed: bool
    blocks: bool = True
    low: float | None = None
    high: float | None = None
    offenders: tuple[str, ...] = ()

    def to_json(self) -> GateRow:
        return {
            "name": self.name,
            "value": self.value,
            "limit": self.limit,
            "n": self.n,
            "low": self.low,
            "high": self.high,
            "passed": self.passed,
            "blocks": self.blocks,
            "offenders": list(self.offenders[:SHOWN]),
        }


def none_of(name: str, offenders: Sequence[str], n: int) -> Gate:
    """Not one of ``n`` things may be so."""
    return Gate(name, float(len(offenders)), "0", n, not offenders, offenders=tuple(offenders))


def at_least(name: str, value: float, limit: float, n: int) -> Gate:
    return Gate(name, round(value, 4), f"at least {limit}", n, value >= limit, blocks=False)


def at_most(name: str, value: float, limit: float, n: int) -> Gate:
    return Gate(name, round(value, 4), f"at most {limit}", n, value <= limit, blocks=False)
