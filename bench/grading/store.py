"""Verdicts and scores in the database: the one place where rows become outcomes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db import transaction

from agents.contract import Trajectory as Course
from agents.contract.serialise import from_json
from bench.grading.combination import combine, escalations
from bench.grading.gap import CheckpointGold, attribute
from bench.grading.gold import checkpoint_gold, checkpoints_of, labels_of
from bench.grading.judges import RUBRIC_VERSION
from bench.grading.rules import check
from bench.grading.types import Outcome, Policy, VerdictRow, VerdictSource, VerdictValue, View
from bench.models import (
    Checkpoint,
    CheckpointKind,
    CheckpointScore,
    Run,
    Trajectory,
    Verdict,
)

RULES = "rules"
CHUNK = 500
COURSES = 200  # preferences whose trajectories are in memory at a time

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
_WRITTEN = ("trajectory_id", "checkpoint_id", *_FIELDS)


def rubric_version() -> str:
    """The version that verdicts are given under now."""
    return RUBRIC_VERSION


def policy_of(run: Run) -> Policy:
    return read_policy(run.manifest["policy"])


def read_policy(stored: Mapping[str, Any]) -> Policy:
    """The policy as a manifest keeps it."""
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


def score_trajectories(ids: Iterable[int]) -> None:
    """Compute the scores of these trajectories anew from their verdicts.

    The trajectories are locked first, so of two that score one at the same time the second sees all verdicts.
    """
    wanted = sorted(set(ids))
    for at in range(0, len(wanted), CHUNK):
        _score_chunk(wanted[at : at + CHUNK])


def first_scores(trajectory: Trajectory, verdicts: Sequence[Verdict], course: Course) -> list[CheckpointScore]:
    """The scores of a trajectory that is about to be stored with these verdicts, so that nobody else has any."""
    unsaved, unit = 0, trajectory.unit
    said: dict[tuple[int, int], list[Said]] = defaultdict(list)
    for row in verdicts:
        said[(unsaved, row.checkpoint_id)].append(
            _said(row.source, row.name, row.value, row.rationale, row.contradicts)
        )
    scores = _scores([(unsaved, unit.task_id, policy_of(unit.run))], said, lambda _: {unsaved: course})
    for score in scores:
        score.trajectory = trajectory
    return scores


@transaction.atomic(savepoint=False)
def _score_chunk(ids: Sequence[int]) -> None:
    locked = Trajectory.objects.select_for_update(of=("self",), no_key=True).filter(pk__in=ids).order_by("pk")
    places = [
        (pk, task_id, read_policy(policy))
        for pk, task_id, policy in locked.values_list("pk", "unit__task_id", "unit__run__manifest__policy")
    ]
    scores = _scores(places, _verdicts(ids), _stored_courses)
    stored = {row[:2]: row[2:] for row in CheckpointScore.objects.filter(trajectory_id__in=ids).values_list(*_WRITTEN)}
    CheckpointScore.objects.bulk_create(
        [score for score in scores if stored.get((score.trajectory_id, score.checkpoint_id)) != _written(score)],
        update_conflicts=True,
        unique_fields=["trajectory", "checkpoint"],
        update_fields=list(_FIELDS),
    )


def _scores(
    places: Sequence[tuple[int, int, Policy]], verdicts: Mapping[tuple[int, int], Sequence[Said]], courses: Courses
) -> list[CheckpointScore]:
    """One score for each checkpoint of each place, which is (trajectory, task, policy)."""
    checkpoints, gold = checkpoints_of(task for _, task, _ in places)
    found = [
        (trajectory, checkpoint, _outcomes(tuple(verdicts.get((trajectory, checkpoint.pk), ())), policy))
        for trajectory, task, policy in places
        for checkpoint in checkpoints[task]
    ]
    gaps = _gaps(found, gold, courses)
    return [_score(trajectory, c, outcomes, gaps.get((trajectory, c.pk), "")) for trajectory, c, outcomes in found]


def _stored_courses(ids: Sequence[int]) -> dict[int, Course]:
    return {pk: from_json(data) for pk, data in Trajectory.objects.filter(pk__in=ids).values_list("pk", "data")}


def _written(score: CheckpointScore) -> tuple[Any, ...]:
    return tuple(getattr(score, name) for name in _FIELDS)


# One verdict without its row number: what is left decides the outcome, and many checkpoints share it.
Said = tuple[str, str, str, str, bool]  # source, name, value, the rule's rationale, contradictory
Courses = Callable[[Sequence[int]], dict[int, Course]]  # by the ids of their trajectories


def _verdicts(ids: Sequence[int]) -> dict[tuple[int, int], list[Said]]:
    """Usable verdicts under the current rubric, by (trajectory, checkpoint), oldest first."""
    found: dict[tuple[int, int], list[Said]] = defaultdict(list)
    rows = Verdict.objects.filter(trajectory_id__in=ids, rubric_version=RUBRIC_VERSION).exclude(value="")
    fields = ("trajectory_id", "checkpoint_id", "source", "name", "value", "rationale", "contradicts")
    for trajectory, checkpoint, source, name, value, rationale, contradicts in rows.order_by("pk").values_list(*fields):
        found[(trajectory, checkpoint)].append(_said(source, name, value, rationale, contradicts))
    return found


def _said(source: str, name: str, value: str, rationale: str, contradicts: bool) -> Said:
    return source, name, value, rationale if source == VerdictSource.RULE else "", contradicts


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


Found = tuple[int, Checkpoint, _Outcomes]  # the first is the trajectory's id


def _score(trajectory_id: int, checkpoint: Checkpoint, found: _Outcomes, gap: str) -> CheckpointScore:
    outcome = found.combined
    return CheckpointScore(
        trajectory_id=trajectory_id,
        checkpoint=checkpoint,
        combined=outcome.value or "",
        origin=outcome.origin.value,
        ai=found.ai.value or "",
        human=found.human.value or "",
        reason=outcome.reason,
        needs_adjudication=outcome.needs_adjudication,
        adjudication_reason=outcome.adjudication_reason,
        flags=sorted(flag.value for flag in outcome.flags),
        escalate=found.escalate,
        gap=gap,
    )


def _gaps(found: Sequence[Found], gold: Mapping[int, frozenset[str]], courses: Courses) -> dict[tuple[int, int], str]:
    """The stage that lost each preference that machines or all together failed, by (trajectory, checkpoint).

    ``gold`` has the ids of each checkpoint's gold events, as agents see them.
    """
    lost = [
        (trajectory, checkpoint, outcomes)
        for trajectory, checkpoint, outcomes in found
        if checkpoint.kind == CheckpointKind.PREFERENCE and "fail" in (outcomes.ai.value, outcomes.combined.value)
    ]
    labels = labels_of({checkpoint.task_id for _, checkpoint, _ in lost}) if lost else {}
    of_task: dict[int, frozenset[str]] = defaultdict(frozenset)
    for _, checkpoint, _ in found if lost else ():
        of_task[checkpoint.task_id] |= gold[checkpoint.pk]
    stages = {}
    for at in range(0, len(lost), COURSES):
        some = lost[at : at + COURSES]
        acted = courses(sorted({trajectory for trajectory, _, _ in some}))
        for trajectory, checkpoint, outcomes in some:
            task = checkpoint.task_id
            what_counts = checkpoint_gold(checkpoint, gold[checkpoint.pk], of_task[task], labels[task])
            stages[(trajectory, checkpoint.pk)] = _gap(acted[trajectory], what_counts, outcomes)
    return stages


def _gap(course: Course, gold: CheckpointGold, outcomes: _Outcomes) -> str:
    ai, combined = outcomes.ai.value, outcomes.combined.value
    overruled = ai is VerdictValue.FAIL and combined is VerdictValue.PASS
    verdict = VerdictValue.FAIL if overruled else combined or VerdictValue.CANNOT_JUDGE
    stage = attribute(course, gold, verdict, overruled)
    return stage.value if stage else ""
