"""Where a run's preference checkpoints were lost, counted once so that pages need not count again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import Count

from bench.models import CheckpointScore, Run

_FIELDS = {
    "method": "trajectory__unit__method",
    "domain": "checkpoint__task__scenario__domain__slug",
    "conflict": "checkpoint__conflict",
    "gap": "gap",
    "combined": "combined",
}

Counts = Iterable[Mapping[str, Any]]


def loss_counts(run: Run, split: str = "") -> list[dict[str, Any]]:
    """``{"method", "domain", "conflict", "gap", "combined", "count"}`` over all preference checkpoints. One query.

    ``conflict`` is "" without one, ``gap`` "" where nothing lost it, ``combined`` "" where unscored.
    ``split``: dev, test or "" for both.
    """
    scores = CheckpointScore.objects.filter(trajectory__unit__run=run, checkpoint__kind="preference")
    if split:
        scores = scores.filter(trajectory__unit__task__persona__split=split)
    rows = scores.values_list(*_FIELDS.values()).annotate(count=Count("pk")).order_by(*_FIELDS.values())
    return [dict(zip((*_FIELDS, "count"), row, strict=True)) for row in rows]


def stage_shares(counts: Counts, domain: str = "") -> dict[str, list[dict[str, Any]]]:
    """Method -> ``{"stage", "count", "share"}`` of its lost preference checkpoints, most first."""
    lost: dict[str, Counter[str]] = defaultdict(Counter)
    for row in counts:
        if row["gap"] and domain in ("", row["domain"]):
            lost[row["method"]][row["gap"]] += row["count"]
    return {
        method: [{"stage": stage, "count": n, "share": n / found.total()} for stage, n in found.most_common()]
        for method, found in lost.items()
    }
