"""How many preference checkpoints of a dataset belong to each tier."""

from __future__ import annotations

from typing import TypedDict

from django.db.models import Count

from bench.generation.spec import Tier
from bench.models import Checkpoint, Dataset


class TierShare(TypedDict):
    """Of the preference checkpoints that have a tier."""

    tier: str
    count: int
    share: float


def tier_shares(dataset: Dataset) -> list[TierShare]:
    """One row a tier, the plainest first. One query."""
    checkpoints = Checkpoint.objects.filter(retired=False, task__persona__dataset=dataset).exclude(tier="")
    counts = dict(checkpoints.order_by().values_list("tier").annotate(Count("pk")))
    total = sum(counts.values())
    return [{"tier": t.value, "count": counts[t], "share": counts[t] / total} for t in Tier if t in counts]
