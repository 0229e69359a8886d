"""Drafts while a rater grades, and the one step that turns them into verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from annotation.models import Assignment, DraftGrade
from annotation.queue import hold
from bench.models import Checkpoint, Trajectory, Verdict
from bench.scoring.store import append_verdicts, score_trajectories
from bench.scoring.types import VerdictSource, VerdictValue

COMMENT_CHARS = 2000
GRADES = ("", *(value.value for value in VerdictValue))  # "" takes a grade back


class OpenCheckpoints(Exception):
    """A submit with checkpoints that have no grade yet; ``positions`` numbers them from 1."""

    def __init__(self, positions: Sequence[int]) -> None:
        numbers = ", ".join(map(str, positions))
        super().__init__(f"Not submitted: grade checkpoint {numbers} first.")
        self.positions = tuple(positions)


class PlaceTaken(Exception):
    """The lease ran out and other raters have taken every place of this trajectory."""

    def __init__(self) -> None:
        super().__init__(
            "Your lease ended and others have graded this trajectory since. Your draft is kept; go on with the next."
        )


@dataclass(frozen=True, slots=True)
class Line:
    """One checkpoint of the rubric with the rater's draft. ``number`` counts from 1."""

    number: int
    checkpoint: Checkpoint
    value: str
    comment: str


def rubric(assignment: Assignment) -> list[Line]:
    """Every checkpoint of the trajectory in order, with gold evidence prefetched and the draft beside it."""
    drafts = {draft.checkpoint_id: draft for draft in assignment.drafts.all()}
    lines = []
    for number, checkpoint in enumerate(_checkpoints(assignment).prefetch_related("evidence"), start=1):
        draft = drafts.get(checkpoint.pk)
        lines.append(Line(number, checkpoint, draft.value if draft else "", draft.comment if draft else ""))
    return lines


def _checkpoints(assignment: Assignment) -> QuerySet[Checkpoint]:
    return Checkpoint.objects.filter(task__units__trajectory=assignment.trajectory_id).order_by("position")


@transaction.atomic
def save_grade(
    *,
    assignment: Assignment,
    checkpoint_id: int,
    now: datetime,
    value: str | None = None,
    comment: str | None = None,
) -> bool:
    """Stores a grade, a comment or both; None leaves what is there. Extends the lease.

    True where the rater still has the place; a draft is stored either way.
    Raises AlreadySubmitted, ValueError for a bad value, Checkpoint.DoesNotExist
    for a checkpoint of another task.
    """
    if value is not None and value not in GRADES:
        raise ValueError(f"{value!r} is no grade; there are pass, fail and cannot_judge")
    if comment is not None and len(comment) > COMMENT_CHARS:
        raise ValueError(f"The comment has {len(comment)} characters; {COMMENT_CHARS} are the most.")
    checkpoint = _checkpoints(assignment).get(pk=checkpoint_id)
    holds = hold(assignment=assignment, now=now)
    changes = {"value": value, "comment": comment}
    DraftGrade.objects.update_or_create(
        assignment=assignment,
        checkpoint=checkpoint,
        defaults={name: given for name, given in changes.items() if given is not None},
    )
    return holds


@transaction.atomic
def save_comments(*, assignment: Assignment, comments: Mapping[int, str], now: datetime) -> None:
    """Stores the comments that stand on the page, checkpoint id -> text; unchanged ones are left alone."""
    for line in rubric(assignment):
        given = comments.get(line.checkpoint.pk)
        if given is not None and given != line.comment:
            save_grade(assignment=assignment, checkpoint_id=line.checkpoint.pk, now=now, comment=given)


@transaction.atomic
def submit(*, assignment: Assignment, now: datetime) -> None:
    """Turns the drafts into verdicts, commits the assignment and scores the trajectory anew, all or nothing.

    Raises OpenCheckpoints, PlaceTaken, AlreadySubmitted.
    """
    if not hold(assignment=assignment, now=now):
        raise PlaceTaken
    lines = rubric(assignment)
    missing = [line.number for line in lines if not line.value]
    if missing:
        raise OpenCheckpoints(missing)
    # One submit of a trajectory at a time, else the later score would miss the earlier verdicts.
    trajectory = Trajectory.objects.select_for_update(no_key=True).get(pk=assignment.trajectory_id)
    append_verdicts([_verdict(assignment, line) for line in lines])
    Assignment.objects.filter(pk=assignment.pk).update(committed_at=now)
    score_trajectories([trajectory.pk])


def _verdict(assignment: Assignment, line: Line) -> Verdict:
    return Verdict(
        trajectory_id=assignment.trajectory_id,
        checkpoint=line.checkpoint,
        rubric_version=assignment.batch.rubric_version,
        source=VerdictSource.HUMAN,
        name=assignment.rater.get_username(),
        rater=assignment.rater,
        value=line.value,
        rationale=line.comment,
    )
