"""The verdicts on one trajectory as people read them: the latest of each source."""

from __future__ import annotations

from collections import defaultdict

from django.db.models import Q

from bench.models import Verdict


def latest(*, trajectory_id: int, rubric_version: str, checkpoint_id: int | None = None) -> dict[int, list[Verdict]]:
    """Checkpoint id -> the newest verdict of each (source, name), ordered by source and name.

    An unscored reply never hides an earlier verdict of the same source, as in the combination.
    """
    rows = Verdict.objects.filter(trajectory_id=trajectory_id, rubric_version=rubric_version)
    if checkpoint_id is not None:
        rows = rows.filter(checkpoint_id=checkpoint_id)
    source = ("checkpoint_id", "source", "name")
    rows = rows.alias(unscored=Q(value="")).order_by(*source, "unscored", "-id").distinct(*source)
    found: dict[int, list[Verdict]] = defaultdict(list)
    for row in rows:
        found[row.checkpoint_id].append(row)
    return found
