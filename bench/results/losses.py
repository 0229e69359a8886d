"""Where a run's preference checkpoints were lost, counted once so that pages need not count again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypedDict

from django.db.models import Count

from bench.models import CheckpointScore, Run
from bench.results.kept import remember
from bench.statistics.intervals import Measure, MeasureJson, clustered_share

_TASK = "checkpoint__task__scenario__"
_FIELDS = {
    "method": "trajectory__unit__method",
    "domain": f"{_TASK}domain__slug",
    "action": f"{_TASK}action_kind",
    "conflict": "checkpoint__conflict",
    "tier": "checkpoint__tier",
    "gap": "gap",
    "combined": "combined",
    "persona": "checkpoint__task__persona_id",
}


class Loss(NamedTuple):
    """Preference checkpoints that ended alike. ``conflict`` is "" without one, ``tier`` "" where unknown, ``gap`` ""
    where nothing lost them, ``combined`` "" where unscored."""

    method: str
    domain: str
    action: str
    conflict: str
    tier: str
    gap: str
    combined: str
    persona: int
    number: int


class LossCount(TypedDict):
    """As ``Loss``, over all personas."""

    method: str
    domain: str
    action: str
    conflict: str
    tier: str
    gap: str
    combined: str
    count: int


class StageShare(MeasureJson):
    """Of the ``n`` lost preference checkpoints, ``count`` were lost at ``stage``; ``mean`` is the share."""

    stage: str
    count: int


def losses_by_persona(run: Run, split: str = "", action: str = "") -> list[Loss]:
    """All preference checkpoints of the run. One query. ``split`` and ``action``: "" for all."""
    scores = CheckpointScore.objects.filter(trajectory__unit__run=run, checkpoint__kind="preference")
    if split:
        scores = scores.filter(checkpoint__task__persona__split=split)
    if action:
        scores = scores.filter(checkpoint__task__scenario__action_kind=action)
    rows = scores.values_list(*_FIELDS.values()).annotate(number=Count("pk")).order_by(*_FIELDS.values())
    return [Loss(*row) for row in rows]


def remembered_losses(run: Run) -> list[Loss]:
    """``losses_by_persona``, in the cache until a score changes."""
    return list(remember("losses", (run,), lambda: {"rows": losses_by_persona(run)})["rows"])


def loss_counts(losses: Iterable[Loss]) -> list[LossCount]:
    """The same without personas, in the same order."""
    counts: Counter[Loss] = Counter()
    for loss in losses:
        counts[loss._replace(persona=0, number=0)] += loss.number
    return [
        LossCount(
            method=one.method, domain=one.domain, action=one.action, conflict=one.conflict, tier=one.tier,
            gap=one.gap, combined=one.combined, count=count,
        )
        for one, count in counts.items()
    ]  # fmt: skip


LostAt = dict[str, dict[str, list[StageShare]]]


def lost_at(losses: Sequence[Loss]) -> LostAt:
    """Domain, or "" for all of them -> ``stage_shares``."""
    domains = sorted({loss.domain for loss in losses})
    by_domain = {domain: stage_shares(loss for loss in losses if loss.domain == domain) for domain in domains}
    return {"": stage_shares(losses), **by_domain}


def stage_shares(losses: Iterable[Loss]) -> dict[str, list[StageShare]]:
    """Method -> the stages that lost its preference checkpoints, most first, each as a share with its interval."""
    lost: dict[str, list[Loss]] = defaultdict(list)
    for loss in losses:
        if loss.gap:
            lost[loss.method].append(loss)
    return {method: _stages(rows) for method, rows in lost.items()}


def _stages(lost: Sequence[Loss]) -> list[StageShare]:
    counts: Counter[str] = Counter()
    for loss in lost:
        counts[loss.gap] += loss.number
    return [
        StageShare(stage=stage, count=count, **share_of(lost, {stage}).to_json())
        for stage, count in counts.most_common()
    ]


def share_of(losses: Iterable[Loss], stages: Iterable[str]) -> Measure:
    """The share of these checkpoints that one of ``stages`` lost, with its interval clustered by persona."""
    wanted = frozenset(stages)
    return share_where([(loss, loss.gap in wanted) for loss in losses])


def share_where(marked: Iterable[tuple[Loss, bool]]) -> Measure:
    """The share of these checkpoints that are marked, with its interval clustered by persona."""
    counts: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for loss, mark in marked:
        of_persona = counts[loss.persona]
        of_persona[0] += loss.number * mark
        of_persona[1] += loss.number
    return clustered_share([passed for passed, _ in counts.values()], [of for _, of in counts.values()])
