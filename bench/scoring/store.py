"""Verdicts and scores in the database: the one place where rows become outcomes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db import transaction
from django.db.models import Q

from agents.contract import Trajectory as Course
from agents.serialise import from_json
from bench.models import Checkpoint, CheckpointKind, CheckpointScore, Run, Trajectory, Verdict
from bench.scoring.combination import combine, escalations
from bench.scoring.gap import CheckpointGold, attribute, over_applications
from bench.scoring.judges import RUBRIC_VERSION
from bench.scoring.rules import check
from bench.scoring.types import Outcome, Policy, VerdictRow, VerdictSource, VerdictValue, View

RULES = "rules"
CHUNK = 500

_FIELDS = (
    "combined",
    "origin",
    "ai",
    "human",
    "reason",
    "needs_adjudication",
    "adjudication_reason",
    "flags",
    "escalate",
    "gap",
)


def rubric_version() -> str:
    """The version that verdicts are given under now."""
    return RUBRIC_VERSION


def policy_of(run: Run) -> Policy:
    stored = run.manifest["policy"]
    return Policy(**{**stored, "panel": tuple(stored["panel"])})


def append_verdicts(rows: Sequence[Verdict]) -> list[Verdict]:
    """Add verdicts. There is no way to change or delete one."""
    return Verdict.objects.bulk_create(rows)


def rule_verdicts(trajectory: Trajectory) -> list[Verdict]:
    """What the rules say of a trajectory; without an action every checkpoint fails, since nothing was done."""
    task = trajectory.unit.task
    acted = trajectory.data["action"] is not None
    world = {"items": {item["id"]: item for item in task.world.get("items", [])}}
    rows = []
    for checkpoint in task.checkpoints.all():
        if checkpoint.rule is not None:
            verdict = check(checkpoint.rule, committed=trajectory.committed, world=world, as_of=task.as_of)
            value, rationale = verdict.value.value, verdict.rationale
        elif not acted:
            value, rationale = "fail", f"no text was written ({trajectory.termination})"
        else:
            continue
        rows.append(
            Verdict(
                trajectory=trajectory,
                checkpoint=checkpoint,
                rubric_version=RUBRIC_VERSION,
                source="rule",
                name=RULES,
                value=value,
                rationale=rationale,
            )
        )
    return rows


def evidence_recall(task_id: int, course: Course) -> float | None:
    """Share of the task's gold events among what the model saw, duplicates folded in; None without gold events."""
    gold = gold_events([task_id])[task_id]
    if not gold:
        return None
    seen = {event_id for e in course.evidence for event_id in (e.event_id, *e.support)}
    return len(gold & seen) / len(gold)


def over_applied(task_id: int, course: Course) -> int | None:
    """Constraints that were acted on though another value holds; None where the method draws no constraints."""
    if not course.constraints:
        return None
    preferences = Checkpoint.objects.filter(task_id=task_id, kind=CheckpointKind.PREFERENCE)
    return len(over_applications(course, dict(preferences.values_list("dimension", "value"))))


def gold_events(task_ids: Sequence[int]) -> dict[int, set[str]]:
    """Ids of the gold events of each task, as agents see them."""
    through = Checkpoint.evidence.through
    found: dict[int, set[str]] = {task_id: set() for task_id in task_ids}
    for task_id, event_id in through.objects.filter(checkpoint__task_id__in=task_ids).values_list(
        "checkpoint__task_id", "event_id"
    ):
        found[task_id].add(str(event_id))
    return found


def score_trajectories(ids: Iterable[int]) -> None:
    """Compute the scores of these trajectories anew from their verdicts, and drop the cached results of their runs."""
    wanted = sorted(set(ids))
    for at in range(0, len(wanted), CHUNK):
        _score_chunk(wanted[at : at + CHUNK])


@transaction.atomic
def _score_chunk(ids: Sequence[int]) -> None:
    trajectories = list(Trajectory.objects.filter(pk__in=ids).select_related("unit__run").order_by("pk"))
    task_ids = {trajectory.unit.task_id for trajectory in trajectories}
    checkpoints: dict[int, list[Checkpoint]] = defaultdict(list)
    for checkpoint in Checkpoint.objects.filter(task_id__in=task_ids).order_by("position"):
        checkpoints[checkpoint.task_id].append(checkpoint)
    evidence = _checkpoint_evidence(task_ids)
    verdicts = _verdicts(ids)
    policies: dict[int, Policy] = {}
    scores = []
    for trajectory in trajectories:
        policy = policies.setdefault(trajectory.unit.run_id, policy_of(trajectory.unit.run))
        scores += _scores(trajectory, checkpoints[trajectory.unit.task_id], evidence, verdicts, policy)
    CheckpointScore.objects.bulk_create(
        scores, update_conflicts=True, unique_fields=["trajectory", "checkpoint"], update_fields=list(_FIELDS)
    )
    kept = Q(results__isnull=False) | Q(agreement__isnull=False)
    Run.objects.filter(kept, pk__in=policies).update(results=None, agreement=None)


def _checkpoint_evidence(task_ids: Iterable[int]) -> dict[int, frozenset[str]]:
    through = Checkpoint.evidence.through
    found: dict[int, set[str]] = defaultdict(set)
    for checkpoint_id, event_id in through.objects.filter(checkpoint__task_id__in=task_ids).values_list(
        "checkpoint_id", "event_id"
    ):
        found[checkpoint_id].add(str(event_id))
    return {key: frozenset(ids) for key, ids in found.items()}


# One verdict without its row number: what is left decides the outcome, and many checkpoints share it.
Said = tuple[str, str, str, str, bool]  # source, name, value, the rule's rationale, contradictory


def _verdicts(ids: Sequence[int]) -> dict[tuple[int, int], list[Said]]:
    """Usable verdicts under the current rubric, by (trajectory, checkpoint), oldest first."""
    found: dict[tuple[int, int], list[Said]] = defaultdict(list)
    rows = Verdict.objects.filter(trajectory_id__in=ids, rubric_version=RUBRIC_VERSION).exclude(value="")
    fields = ("trajectory_id", "checkpoint_id", "source", "name", "value", "rationale", "contradicts")
    for trajectory, checkpoint, source, name, value, rationale, contradicts in rows.order_by("pk").values_list(*fields):
        why = rationale if source == VerdictSource.RULE else ""
        found[(trajectory, checkpoint)].append((source, name, value, why, contradicts))
    return found


@dataclass(frozen=True)
class _Outcomes:
    combined: Outcome
    ai: Outcome
    human: Outcome
    escalate: str


@lru_cache(maxsize=100_000)
def _outcomes(said: tuple[Said, ...], policy: Policy) -> _Outcomes:
    """The outcome of verdicts in their order. Remembered: of many checkpoints, few differ in what was said."""
    rows = [
        VerdictRow("", VerdictSource(source), name, VerdictValue(value), number, why, contradicts)
        for number, (source, name, value, why, contradicts) in enumerate(said)
    ]
    return _Outcomes(
        combine(rows, policy),
        combine(rows, policy, View.AI),
        combine(rows, policy, View.HUMAN),
        ", ".join(flag.value for flag in escalations(rows, policy)),
    )


def _scores(
    trajectory: Trajectory,
    checkpoints: Sequence[Checkpoint],
    evidence: dict[int, frozenset[str]],
    verdicts: dict[tuple[int, int], list[Said]],
    policy: Policy,
) -> list[CheckpointScore]:
    course: Course | None = None
    scores = []
    for checkpoint in checkpoints:
        found = _outcomes(tuple(verdicts.get((trajectory.pk, checkpoint.pk), ())), policy)
        outcome, ai, human = found.combined, found.ai, found.human
        gap = ""
        if checkpoint.kind == CheckpointKind.PREFERENCE and "fail" in (ai.value, outcome.value):
            course = course or from_json(trajectory.data)
            gap = _gap(course, checkpoint, evidence.get(checkpoint.pk, frozenset()), ai.value, outcome.value)
        scores.append(
            CheckpointScore(
                trajectory=trajectory,
                checkpoint=checkpoint,
                combined=outcome.value or "",
                origin=outcome.origin.value,
                ai=ai.value or "",
                human=human.value or "",
                reason=outcome.reason,
                needs_adjudication=outcome.needs_adjudication,
                adjudication_reason=outcome.adjudication_reason,
                flags=sorted(flag.value for flag in outcome.flags),
                escalate=found.escalate,
                gap=gap,
            )
        )
    return scores


def _gap(
    course: Course,
    checkpoint: Checkpoint,
    gold_ids: frozenset[str],
    ai: VerdictValue | None,
    combined: VerdictValue | None,
) -> str:
    rule: dict[str, Any] = checkpoint.rule or {}
    gold = CheckpointGold(
        dimension=checkpoint.dimension,
        value=checkpoint.value,
        gold_event_ids=gold_ids,
        superseded_values=frozenset(checkpoint.losing_values),
        part=rule.get("argument", rule.get("item_field", "")),
    )
    overruled = ai is VerdictValue.FAIL and combined is VerdictValue.PASS
    verdict = VerdictValue.FAIL if overruled else combined or VerdictValue.CANNOT_JUDGE
    stage = attribute(course, gold, verdict, overruled)
    return stage.value if stage else ""
