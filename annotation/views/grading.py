"""Grading one trajectory, saving on the way, submitting, and the reveal behind it."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from django.contrib import messages
from django.db import DatabaseError, InterfaceError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation.access import TO_READ, TO_SUBMIT, own_assignment
from annotation.grading import (
    COMMENT_CHARS,
    GradedElsewhere,
    Line,
    OpenCheckpoints,
    PlaceTaken,
    drafted,
    rubric,
    save_grade,
    submit,
)
from annotation.models import Assignment
from annotation.queue import AlreadySubmitted, hold, just_leased, set_aside, take_next
from annotation.reveal import NotYet, compared
from annotation.transcript import evidence_parts, parts, transcript
from bench.access import may_annotate, require
from bench.asked import number
from bench.models import Checkpoint

DatabaseErrors = (DatabaseError, InterfaceError)
logger = logging.getLogger(__name__)
GRADES = (
    {"value": "pass", "label": "Pass", "sign": "✓", "key": "p"},
    {"value": "fail", "label": "Fail", "sign": "✗", "key": "f"},
    {"value": "cannot_judge", "label": "Cannot judge", "sign": "?", "key": "c"},
)


@never_cache
@require_http_methods(["GET", "POST"])
@require(may_annotate)
def grade(request: HttpRequest, pk: int) -> HttpResponse:
    """GET shows the trajectory with its rubric; POST submits."""
    now = timezone.now()
    if request.method == "POST":
        return _submit(request, own_assignment(request, pk, *TO_SUBMIT), now)
    assignment = own_assignment(request, pk, *TO_READ)
    try:
        holds = just_leased(assignment=assignment, now=now) or hold(assignment=assignment, now=now)
    except AlreadySubmitted:
        return redirect("reveal", pk=pk)
    return _page(request, assignment, error=None if holds else PlaceTaken())


def _submit(request: HttpRequest, assignment: Assignment, now: datetime) -> HttpResponse:
    """A second submit of the same page finds the work done and only moves on."""
    try:
        submit(
            assignment=assignment,
            now=now,
            shown=_by_checkpoint(request, "shown-"),
            comments=_by_checkpoint(request, "comment-"),
            anchors=_by_checkpoint(request, "anchor-"),
        )
    except (GradedElsewhere, OpenCheckpoints, PlaceTaken, ValueError) as error:
        missing = error.positions if isinstance(error, GradedElsewhere | OpenCheckpoints) else ()
        whole = own_assignment(request, assignment.pk, *TO_READ)
        return _page(request, whole, error=error, missing=missing, status=422)
    except AlreadySubmitted:
        pass
    following = take_next(rater_id=assignment.rater_id, now=now)
    if following is None:
        messages.success(request, "Submitted. That was the last one for you.")
        return redirect("reveal", pk=assignment.pk)
    return redirect(f"{reverse('grade', args=[following.pk])}?after={assignment.pk}")


def _by_checkpoint(request: HttpRequest, prefix: str) -> dict[int, str]:
    """The fields of that prefix, checkpoint id -> text."""
    return {
        int(name.removeprefix(prefix)): _text(value)
        for name, value in request.POST.items()
        if name.startswith(prefix) and number(name.removeprefix(prefix)) is not None and isinstance(value, str)
    }


def _text(value: str) -> str:
    """A comment as it was typed: browsers send CR LF, and a NUL could be sent that no column takes."""
    return value.replace("\r\n", "\n").replace("\x00", "")


def _page(
    request: HttpRequest,
    assignment: Assignment,
    *,
    error: Exception | None = None,
    missing: Sequence[int] = (),
    status: int = 200,
) -> HttpResponse:
    """The page; where it cannot be drawn the item is set aside for administrators and the rater gets the next."""
    try:
        return _drawn(request, assignment, error=error, missing=missing, status=status)
    except DatabaseErrors:
        raise  # says nothing about the item
    except Exception as fault:
        logger.exception("trajectory %s cannot be drawn for a rater; it is set aside", assignment.trajectory_id)
        set_aside(trajectory_id=assignment.trajectory_id, reason=f"{type(fault).__name__}: {fault}")
        messages.warning(request, "An item cannot be shown. It was set aside with a note for administrators.")
        following = take_next(rater_id=assignment.rater_id, now=timezone.now())
        return redirect("annotate") if following is None else redirect("grade", pk=following.pk)


def _drawn(
    request: HttpRequest,
    assignment: Assignment,
    *,
    error: Exception | None,
    missing: Sequence[int],
    status: int,
) -> HttpResponse:
    lines, read = rubric(assignment), transcript(assignment.trajectory)
    done = Assignment.objects.filter(
        batch_id=assignment.batch_id, rater_id=assignment.rater_id, committed_at__isnull=False
    )
    context = {
        "assignment": assignment,
        **_progress(lines),
        "lines": [(line, evidence_parts(line.checkpoint.evidence.all())) for line in lines],
        "parts": parts(read),
        "transcript": read,
        "open_id": _open(request, lines, missing),
        "missing": missing,
        "error": error,
        "place_taken": isinstance(error, PlaceTaken),
        "place": done.count() + 1,
        "batch_size": assignment.batch.trajectories.count(),
        "after": after if number(after := request.GET.get("after", "")) is not None else "",
        "comment_chars": COMMENT_CHARS,
        "grades": GRADES,
    }
    return render(request, "annotation/grading.html", context, status=status)


def _open(request: HttpRequest, lines: Sequence[Line], missing: Sequence[int]) -> int | None:
    """The one checkpoint that is unfolded: a missing one, the one asked for, else one without a grade."""
    asked = request.GET.get("open", "")
    if missing:
        return lines[missing[0] - 1].checkpoint.pk
    if any(str(line.checkpoint.pk) == asked for line in lines):
        return int(asked)
    fresh = (line.checkpoint.pk for line in lines if not line.value)
    return next(fresh, lines[0].checkpoint.pk if lines else None)


def _progress(lines: Sequence[Line]) -> dict[str, int | datetime | None]:
    """How many checkpoints have a grade, of how many, and when the last was saved."""
    return {
        "graded": sum(bool(line.value) for line in lines),
        "total": len(lines),
        "saved_at": max((line.saved_at for line in lines if line.saved_at), default=None),
    }


@never_cache
@require_POST
@require(may_annotate)
def save(request: HttpRequest, pk: int, checkpoint_id: int) -> HttpResponse:
    """Autosave of one grade or comment. htmx gets the fragment, a plain form the page again."""
    assignment = own_assignment(request, pk)
    comment = request.POST.get(f"comment-{checkpoint_id}")
    lines: Sequence[Line] | None = None
    try:
        saved = save_grade(
            assignment=assignment,
            checkpoint_id=checkpoint_id,
            now=timezone.now(),
            value=request.POST.get("value"),
            comment=None if comment is None else _text(comment),
            anchor=request.POST.get(f"anchor-{checkpoint_id}"),
        )
        lines, problem, status = saved.lines, "" if saved.holds else str(PlaceTaken()), 200
    except Checkpoint.DoesNotExist as error:
        raise Http404("This trajectory has no such checkpoint.") from error
    except AlreadySubmitted as error:
        problem, status = str(error), 409
    except ValueError as error:
        problem, status = str(error), 422
    if lines is None:
        lines = drafted(assignment)
    return _saved(request, lines, assignment.pk, checkpoint_id, problem, status)


def _saved(
    request: HttpRequest, lines: Sequence[Line], pk: int, checkpoint_id: int, problem: str, status: int
) -> HttpResponse:
    line = next((line for line in lines if line.checkpoint.pk == checkpoint_id), None)
    if getattr(request, "htmx", False):
        shown = line or Line(0, Checkpoint(pk=checkpoint_id))
        context = {**_progress(lines), "line": shown, "problem": problem, "oob": True}
        return render(request, "annotation/grading.html#saved", context, status=status)
    if problem:
        messages.error(request, problem)
    address = reverse("grade", args=[pk])
    return redirect(f"{address}?open={checkpoint_id}#checkpoint-{line.number if line else 1}")


@never_cache
@require_GET
@require(may_annotate)
def reveal(request: HttpRequest, pk: int) -> HttpResponse:
    assignment = own_assignment(request, pk, *TO_READ)
    try:
        lines = compared(assignment)
    except NotYet as error:
        messages.info(request, str(error))
        return redirect("grade", pk=pk)
    marks: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        if line.anchor:
            marks[line.anchor.name].append(str(line.number))
    context = {
        "assignment": assignment,
        "lines": lines,
        "transcript": transcript(assignment.trajectory),
        "marks": marks,
        "others": max((line.others for line in lines), default=0),
        "simulated": any(row.simulated for line in lines for row in line.machines),
    }
    return render(request, "annotation/reveal.html", context)
