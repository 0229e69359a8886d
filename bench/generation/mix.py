"""How a dataset's tasks are mixed: no value is right too often, and no kind of conflict or tier is rare."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import fsum

from bench.generation.resolve import Resolved
from bench.generation.spec import Conflict, Tier

MOST_OF = 0.45
LEAST_OF: Mapping[str, float] = {  # of a split's preference checkpoints; what the gates ask for, and a little more
    Tier.COMBINED: 0.28,
    Tier.CONTESTED: 0.28,
    **{conflict: 0.06 for conflict in Conflict if conflict is not Conflict.NONE},
}
LACKING: Mapping[str, float] = {
    Tier.CONTESTED: 4.0,
    Conflict.OVERRIDE: 2.0,
    Conflict.CROSS: 2.0,
}  # what one of too rare a kind is worth, beside what is new; else 1


@dataclass
class Balance:
    """What was asked of the personas of one split.

    A value may hold for two checkpoints of its dimension, and from then on for at most ``MOST_OF`` of them.
    """

    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    kinds: Counter[str] = field(default_factory=Counter)

    def room(self, dimension: str, value: str) -> bool:
        counts = self.counts[dimension]
        return counts[value] + 1 <= max(2, (counts.total() + 1) * MOST_OF)

    def worth(self, asked: Mapping[str, Resolved]) -> float:
        """More for values that are infrequent among their dimension's, and for kinds of which there are too few."""
        total = sum(counts.total() for counts in self.counts.values())
        found = (kind for one in asked.values() for kind in _kinds(one))
        lacking = (LACKING.get(kind, 1.0) for kind in found if self.kinds[kind] <= LEAST_OF.get(kind, 0.0) * total)
        return fsum([*(self._rarity(d, one.value) / 8 for d, one in asked.items()), *lacking])

    def _rarity(self, dimension: str, value: str) -> float:
        """1 for a value that was not asked for yet, less for one that is frequent among its dimension's."""
        counts = self.counts[dimension]
        return 1 - counts[value] / (counts.total() + 1)

    def add(self, asked: Mapping[str, Resolved]) -> None:
        for dimension, found in asked.items():
            self.counts[dimension][found.value] += 1
            self.kinds.update(_kinds(found))


def _kinds(found: Resolved) -> tuple[str, ...]:
    return (found.tier.value, found.conflict.value)
