"""Drafts while a rater grades, and the one step that turns them into verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction
from django.db.models import Prefetch, QuerySet

from annotation.models import Assignment, DraftGrade
from annotation.queue import hold
from annotation.transcript import part_named, transcript
from bench.grading.store import append_verdicts, score_trajectories
from bench.grading.types import VerdictSource, VerdictValue
from bench.models import Checkpoint, Event, Verdict

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
    evidence = Prefetch("evidence", Event.objects.order_by("position"))  # all of one persona
    return _lines(assignment, checkpoints(assignment).prefetch_related(evidence))


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


@dataclass(frozen=True, slots=True)
class Saved:
    """``holds``: the rater still has the place; a draft is stored either way. ``lines``: the rubric as it is now."""

    holds: bool
    lines: list[Line]


@transaction.atomic
def save_grade(
    *,
    assignment: Assignment,
    checkpoint_id: int,
    now: datetime,
    value: str | None = None,
    comment: str | None = None,
    anchor: str | None = None,
) -> Saved:
    """Stores what is given of a grade, its comment and what that points at; None leaves what is there.

    Extends the lease. Raises AlreadySubmitted, ValueError for a bad value, Checkpoint.DoesNotExist
    for a checkpoint of another task.
    """
    if value is not None and value not in GRADES:
        raise ValueError(f"{value!r} is no grade; there are pass, fail and cannot_judge")
    lines = drafted(assignment)
    old = next((line for line in lines if line.checkpoint.pk == checkpoint_id), None)
    if old is None:
        raise Checkpoint.DoesNotExist(f"the trajectory has no checkpoint {checkpoint_id}")
    _check(assignment, old.checkpoint, comment, anchor)
    holds = hold(assignment=assignment, now=now)
    changed = replace(
        old,
        value=old.value if value is None else value,
        comment=old.comment if comment is None else comment,
        anchor=old.anchor if anchor is None else anchor,
    )
    given = {"value": value, "comment": comment, "anchor": anchor}
    (new,) = _write(assignment, [changed], [name for name, text in given.items() if text is not None])
    return Saved(holds, [new if line is old else line for line in lines])


def _check(assignment: Assignment, checkpoint: Checkpoint, comment: str | None, anchor: str | None) -> None:
    if comment is not None and len(comment) > COMMENT_CHARS:
        raise ValueError(f"The comment has {len(comment)} characters; {COMMENT_CHARS} are the most.")
    if anchor and part_named(anchor, transcript(assignment.trajectory), checkpoint.evidence.all()) is None:
        raise ValueError(f"This trajectory has no part {anchor[:80]!r}; choose one of the list.")


def _write(assignment: Assignment, lines: Sequence[Line], fields: Iterable[str]) -> list[Line]:
    """Stores these fields of the lines' drafts, in one statement."""
    drafts = DraftGrade.objects.bulk_create(
        [
            DraftGrade(
                assignment=assignment,
                checkpoint=line.checkpoint,
                value=line.value,
                comment=line.comment,
                anchor=line.anchor,
            )
            for line in lines
        ],
        update_conflicts=True,
        unique_fields=["assignment", "checkpoint"],
        update_fields=[*fields, "saved_at"],
    )
    return [replace(line, saved_at=draft.saved_at) for line, draft in zip(lines, drafts, strict=True)]


def submit(
    *,
    assignment: Assignment,
    now: datetime,
    shown: Mapping[int, str] | None = None,
    comments: Mapping[int, str] | None = None,
    anchors: Mapping[int, str] | None = None,
) -> None:
    """Turns the drafts into verdicts, commits the assignment and scores the trajectory anew, all or nothing.

    ``shown``: checkpoint id -> the grade that the rater had before the eyes. ``comments`` and ``anchors``: as they
    stand on the page, by checkpoint id; they are stored even where the submit is refused.
    Raises GradedElsewhere, OpenCheckpoints, PlaceTaken, AlreadySubmitted, ValueError for a bad comment or anchor.
    """
    refused = _submit(assignment, now, shown or {}, comments or {}, anchors or {})
    if refused is not None:
        raise refused


@transaction.atomic
def _submit(
    assignment: Assignment,
    now: datetime,
    shown: Mapping[int, str],
    comments: Mapping[int, str],
    anchors: Mapping[int, str],
) -> GradedElsewhere | OpenCheckpoints | PlaceTaken | None:
    """Why it was refused, after the comments were stored."""
    holds = hold(assignment=assignment, now=now)
    lines = drafted(assignment)
    typed = _store_typed(assignment, lines, comments, anchors)
    if not holds:
        return PlaceTaken()
    other = [line.number for line in lines if shown.get(line.checkpoint.pk, line.value) != line.value]
    if other:
        return GradedElsewhere(other)
    missing = [line.number for line in lines if not line.value]
    if missing:
        return OpenCheckpoints(missing)
    append_verdicts([_verdict(assignment, line) for line in typed])
    Assignment.objects.filter(pk=assignment.pk).update(committed_at=now)
    # Locks the trajectory before it reads: of two submits the later one scores the verdicts of both.
    score_trajectories([assignment.trajectory_id])
    return None


def _store_typed(
    assignment: Assignment, lines: Sequence[Line], comments: Mapping[int, str], anchors: Mapping[int, str]
) -> list[Line]:
    """The lines with the comments and anchors of the page; what differs from the drafts is stored."""
    typed = []
    for line in lines:
        pk = line.checkpoint.pk
        typed.append(replace(line, comment=comments.get(pk, line.comment), anchor=anchors.get(pk, line.anchor)))
    changed = [new for new, old in zip(typed, lines, strict=True) if new != old]
    for line in changed:
        _check(assignment, line.checkpoint, line.comment, line.anchor)
    if changed:
        _write(assignment, changed, ("comment", "anchor"))
    return typed


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
