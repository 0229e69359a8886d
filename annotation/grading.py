"""Drafts while a rater grades, and the one step that turns them into verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from annotation.models import Assignment, DraftGrade
from annotation.queue import hold
from annotation.transcript import part_named, transcript
from bench.grading.store import append_verdicts, score_trajectories
from bench.grading.types import VerdictSource, VerdictValue
from bench.models import Checkpoint, Verdict

COMMENT_CHARS = 2000
GRADES = ("", *(value.value for value in VerdictValue))  # "" takes a grade back


class OpenCheckpoints(Exception):
    """A submit with checkpoints that have no grade yet; ``positions`` numbers them from 1."""

    def __init__(self, positions: Sequence[int]) -> None:
        numbers = ", ".join(map(str, positions))
        super().__init__(f"Not submitted: grade checkpoint {numbers} first.")
        self.positions = tuple(positions)


class GradedElsewhere(Exception):
    """A submit of a page that shows other grades than the drafts hold, such as that of a second tab."""

    def __init__(self, positions: Sequence[int]) -> None:
        numbers = ", ".join(map(str, positions))
        super().__init__(
            f"Not submitted: checkpoint {numbers} was graded anew in another tab. What you see now is what is kept; "
            "submit again if it is right."
        )
        self.positions = tuple(positions)


class PlaceTaken(Exception):
    """The lease ran out and other raters have taken every place of this trajectory."""

    def __init__(self) -> None:
        super().__init__(
            "Your lease ended and others have graded this trajectory since. Your draft is kept; go on with the next."
        )


@dataclass(frozen=True, slots=True)
class Line:
    """One checkpoint of the rubric with the rater's draft. ``number`` counts from 1; ``anchor`` names a part."""

    number: int
    checkpoint: Checkpoint
    value: str = ""
    comment: str = ""
    anchor: str = ""
    saved_at: datetime | None = None


def rubric(assignment: Assignment) -> list[Line]:
    """Every checkpoint of the trajectory in order, with gold evidence prefetched and the draft beside it."""
    return _lines(assignment, checkpoints(assignment).prefetch_related("evidence"))


def drafted(assignment: Assignment) -> list[Line]:
    """The same for what asks about grades only: nothing of the evidence is read."""
    return _lines(assignment, checkpoints(assignment))


def _lines(assignment: Assignment, found: QuerySet[Checkpoint]) -> list[Line]:
    drafts = {draft.checkpoint_id: draft for draft in DraftGrade.objects.filter(assignment=assignment)}
    return [
        Line(number, checkpoint, draft.value, draft.comment, draft.anchor, draft.saved_at)
        if (draft := drafts.get(checkpoint.pk))
        else Line(number, checkpoint)
        for number, checkpoint in enumerate(found, start=1)
    ]


def checkpoints(assignment: Assignment) -> QuerySet[Checkpoint]:
    """What the assignment's trajectory is graded by, in order."""
    return Checkpoint.objects.filter(retired=False, task__units__trajectory=assignment.trajectory_id).order_by(
        "position"
    )


@transaction.atomic
def save_grade(
    *,
    assignment: Assignment,
    checkpoint_id: int,
    now: datetime,
    value: str | None = None,
    comment: str | None = None,
    anchor: str | None = None,
) -> bool:
    """Stores what is given of a grade, its comment and what that points at; None leaves what is there.

    Extends the lease. True where the rater still has the place; a draft is stored either way.
    Raises AlreadySubmitted, ValueError for a bad value, Checkpoint.DoesNotExist
    for a checkpoint of another task.
    """
    if value is not None and value not in GRADES:
        raise ValueError(f"{value!r} is no grade; there are pass, fail and cannot_judge")
    if comment is not None and len(comment) > COMMENT_CHARS:
        raise ValueError(f"The comment has {len(comment)} characters; {COMMENT_CHARS} are the most.")
    checkpoint = checkpoints(assignment).get(pk=checkpoint_id)
    if anchor and part_named(anchor, transcript(assignment.trajectory), checkpoint.evidence.all()) is None:
        raise ValueError(f"This trajectory has no part {anchor[:80]!r}; choose one of the list.")
    holds = hold(assignment=assignment, now=now)
    changes = {"value": value, "comment": comment, "anchor": anchor}
    given = {name: text for name, text in changes.items() if text is not None}
    DraftGrade.objects.bulk_create(
        [DraftGrade(assignment=assignment, checkpoint=checkpoint, **given)],
        update_conflicts=True,
        unique_fields=["assignment", "checkpoint"],
        update_fields=[*given, "saved_at"],
    )
    return holds


@transaction.atomic
def save_comments(
    *, assignment: Assignment, comments: Mapping[int, str], anchors: Mapping[int, str], now: datetime
) -> None:
    """Stores the comments and anchors that stand on the page, by checkpoint id; unchanged ones are left alone."""
    for line in drafted(assignment):
        pk = line.checkpoint.pk
        comment, anchor = comments.get(pk, line.comment), anchors.get(pk, line.anchor)
        if (comment, anchor) != (line.comment, line.anchor):
            save_grade(assignment=assignment, checkpoint_id=pk, now=now, comment=comment, anchor=anchor)


@transaction.atomic
def submit(*, assignment: Assignment, now: datetime, shown: Mapping[int, str] | None = None) -> None:
    """Turns the drafts into verdicts, commits the assignment and scores the trajectory anew, all or nothing.

    ``shown``: checkpoint id -> the grade that the rater had before the eyes.
    Raises GradedElsewhere, OpenCheckpoints, PlaceTaken, AlreadySubmitted.
    """
    if not hold(assignment=assignment, now=now):
        raise PlaceTaken
    lines = drafted(assignment)
    seen = shown or {}
    other = [line.number for line in lines if seen.get(line.checkpoint.pk, line.value) != line.value]
    if other:
        raise GradedElsewhere(other)
    missing = [line.number for line in lines if not line.value]
    if missing:
        raise OpenCheckpoints(missing)
    append_verdicts([_verdict(assignment, line) for line in lines])
    Assignment.objects.filter(pk=assignment.pk).update(committed_at=now)
    # Locks the trajectory before it reads: of two submits the later one scores the verdicts of both.
    score_trajectories([assignment.trajectory_id])


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
        anchor=line.anchor,
    )
