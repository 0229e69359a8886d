"""Whether a dataset asks enough of each kind: shares of tiers and of conflicts among the preference checkpoints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from bench.generation.spec import Conflict, Tier
from bench.models import Checkpoint

LEAST_TIER = {Tier.COMBINED: 0.25, Tier.CONTESTED: 0.20}
LEAST_CONFLICT = 0.05
ENOUGH = 200  # preference checkpoints, of which a share says something; "tiny" has fewer


def shares(preferences: Sequence[Checkpoint]) -> Iterator[tuple[str, float, float]]:
    """Name, share of the checkpoints, and the least that is asked for; nothing of a dataset that is too small."""
    if len(preferences) < ENOUGH:
        return
    tiers, conflicts = (Counter(getattr(c, name) for c in preferences) for name in ("tier", "conflict"))
    total = len(preferences)
    for tier, least in LEAST_TIER.items():
        yield f"share of {tier.value} preferences", tiers[tier] / total, least
    for conflict in Conflict:
        if conflict is not Conflict.NONE:
            yield (
                f"share of preferences with the conflict {conflict.value}",
                conflicts[conflict] / total,
                LEAST_CONFLICT,
            )
