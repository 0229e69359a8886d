"""A measured value beside a reference from the same minutes on the same machine."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Row:
    """``ratio`` is value over reference: it compares between machines, the value alone does not."""

    name: str
    value: float
    unit: str
    reference: float

    @property
    def ratio(self) -> float:
        return self.value / self.reference if self.reference else float("nan")

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "value": round(self.value, 6),
            "unit": self.unit,
            "reference": round(self.reference, 6),
            "ratio": round(self.ratio, 4),
        }


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def percentile_ms(work: Callable[[], object], times: int, percentile: float = 95) -> float:
    """The given percentile of ``times`` runs after three unmeasured ones, in ms."""
    for _ in range(3):
        work()
    return float(np.percentile([seconds(work) * 1000 for _ in range(times)], percentile))


def reference_s() -> float:
    """What this machine needs now for a fixed piece of plain Python work (2,000 hashes of 10 kB), in seconds."""
    block = b"x" * 10_000
    return min(seconds(lambda: [hashlib.sha256(block).digest() for _ in range(2000)]) for _ in range(3))
