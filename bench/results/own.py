"""What a run amounts to for the team that brought the agent: totals, and for those who may see gold each checkpoint."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NotRequired, TypedDict

from django.db.models import QuerySet

from bench.models import Checkpoint, CheckpointScore, Run, Trajectory, Verdict
from bench.results.cells import Cell
from bench.results.report import results_of

HOLDS_ELSEWHERE = ("expired", "conditional")


class Shares(TypedDict):
    """Checkpoints of one kind of action: how many were scored and passed."""

    tasks: int
    task_scored: int
    task_passed: int
    preference_scored: int
    preference_passed: int


class VerdictSaid(TypedDict):
    source: str
    name: str
    value: str | None
    reason: str


class CheckpointResult(TypedDict):
    """One checkpoint of one trajectory. ``seen_event_ids``: those of the gold events that the agent was given."""

    trajectory: int
    task: str
    action_kind: str
    position: int
    kind: str
    text: str
    value: str | None
    origin: str
    dimension: NotRequired[str]
    wanted: NotRequired[str]
    conflict: NotRequired[str]
    tier: NotRequired[str]
    answer: NotRequired[str]
    tolerance: NotRequired[float]
    gold_event_ids: list[str]
    seen_event_ids: list[str]
    over_applied: bool | None
    lost_at: str | None
    verdicts: list[VerdictSaid]


class OwnResults(TypedDict):
    """``checkpoints``: null where ``gold_withheld`` says why."""

    run: int
    status: str
    simulated: bool
    gold_seen: bool
    manifest_sha256: str
    cells: list[Cell]
    by_action_kind: dict[str, Shares]
    over_applied: int | None
    gold_withheld: str
    checkpoints: list[CheckpointResult] | None


def own_results(run: Run, gold_withheld: str) -> OwnResults:
    """Totals of the run; each checkpoint too where nothing is withheld.

    ``over_applied`` counts checkpoints where what was done is a choice that holds in a state that is over, or under a
    condition that is not met; None where no checkpoint can tell.
    """
    scores = _ordered(CheckpointScore.objects.filter(trajectory__unit__run=run))
    known = [one for one in map(_over_applied, scores) if one is not None]
    verdicts = Verdict.objects.filter(trajectory__unit__run=run)
    return {
        "run": run.pk,
        "status": run.status,
        "simulated": run.simulated,
        "gold_seen": run.gold_seen,
        "manifest_sha256": run.manifest_sha256,
        "cells": results_of(run)["cells"],
        "by_action_kind": _by_action_kind(scores),
        "over_applied": sum(known) if known else None,
        "gold_withheld": gold_withheld,
        "checkpoints": None if gold_withheld else _checkpoints(verdicts, scores),
    }


def checkpoints_of(trajectory: Trajectory) -> list[CheckpointResult]:
    """Every checkpoint of one trajectory, with all that is gold."""
    scores = _ordered(CheckpointScore.objects.filter(trajectory=trajectory))
    return _checkpoints(Verdict.objects.filter(trajectory=trajectory), scores)


def _ordered(scores: QuerySet[CheckpointScore]) -> list[CheckpointScore]:
    related = scores.select_related("checkpoint", "trajectory__unit__task__scenario")
    return list(related.order_by("trajectory_id", "checkpoint__position"))


def _by_action_kind(scores: Iterable[CheckpointScore]) -> dict[str, Shares]:
    found: dict[str, Shares] = {}
    tasks: dict[str, set[int]] = defaultdict(set)
    for score in scores:
        kind = score.trajectory.unit.task.scenario.action_kind
        empty = Shares(tasks=0, task_scored=0, task_passed=0, preference_scored=0, preference_passed=0)
        shares = found.setdefault(kind, empty)
        tasks[kind].add(score.trajectory_id)
        scored, passed = int(score.combined in ("pass", "fail")), int(score.combined == "pass")
        if score.checkpoint.kind == "task":
            shares["task_scored"] += scored
            shares["task_passed"] += passed
        else:
            shares["preference_scored"] += scored
            shares["preference_passed"] += passed
    for kind, shares in found.items():
        shares["tasks"] = len(tasks[kind])
    return found


def _over_applied(score: CheckpointScore) -> bool | None:
    """Whether a choice that holds elsewhere was acted on; None where the checkpoint cannot tell."""
    checkpoint = score.checkpoint
    if score.gap == "over_applied":
        return True
    if checkpoint.conflict not in HOLDS_ELSEWHERE or not score.combined:
        return None
    if score.combined == "pass":
        return False
    argument = (checkpoint.rule or {}).get("argument")
    committed = score.trajectory.committed
    if not argument or not committed:
        return None
    return any(call["arguments"].get(argument) in checkpoint.losing_values for call in committed)


def _checkpoints(verdicts: QuerySet[Verdict], scores: Sequence[CheckpointScore]) -> list[CheckpointResult]:
    said: dict[tuple[int, int], dict[tuple[str, str], VerdictSaid]] = defaultdict(dict)
    for verdict in verdicts.order_by("pk"):  # of one source the latest counts
        said[verdict.trajectory_id, verdict.checkpoint_id][verdict.source, verdict.name] = {
            "source": verdict.source,
            "name": verdict.name,
            "value": verdict.value or None,
            "reason": verdict.rationale,
        }
    gold: dict[int, list[str]] = defaultdict(list)
    cites = Checkpoint.evidence.through.objects.filter(checkpoint__in={score.checkpoint_id for score in scores})
    for checkpoint_id, event_id in cites.order_by("event_id").values_list("checkpoint_id", "event_id"):
        gold[checkpoint_id].append(str(event_id))
    return [
        _checkpoint(score, gold[score.checkpoint_id], [*said[score.trajectory_id, score.checkpoint_id].values()])
        for score in scores
    ]


def _checkpoint(score: CheckpointScore, gold: list[str], verdicts: list[VerdictSaid]) -> CheckpointResult:
    checkpoint, task = score.checkpoint, score.trajectory.unit.task
    seen = {event["event_id"] for event in score.trajectory.data["evidence"]}
    found: CheckpointResult = {
        "trajectory": score.trajectory_id,
        "task": task.slug,
        "action_kind": task.scenario.action_kind,
        "position": checkpoint.position,
        "kind": checkpoint.kind,
        "text": checkpoint.text,
        "value": score.combined or None,
        "origin": score.origin,
        "gold_event_ids": gold,
        "seen_event_ids": [event for event in gold if event in seen],
        "over_applied": _over_applied(score),
        "lost_at": score.gap or None,
        "verdicts": verdicts,
    }
    if checkpoint.dimension:
        found["dimension"], found["wanted"] = checkpoint.dimension, checkpoint.value
    if checkpoint.conflict:
        found["conflict"] = checkpoint.conflict
    if checkpoint.tier:
        found["tier"] = checkpoint.tier
    if checkpoint.answer:
        found["answer"], found["tolerance"] = checkpoint.answer, checkpoint.tolerance
    return found
