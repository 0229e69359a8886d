"""Reading one item of a blind quiz, saving on the way, submitting; and the page where an administrator makes one."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.forms import ReadingForm
from annotation.models import Seat
from annotation.reading import (
    NothingToRead,
    OpenQuestions,
    answer,
    create_reading,
    draft_of,
    next_seat,
    reading_progress,
    save_draft,
)
from bench.access import may_adjudicate, may_annotate, may_launch, require
from bench.audit.answers import LONGEST_COMMENT
from bench.audit.shapes import REMARKS
from bench.models import Dataset


def _check_blind(request: HttpRequest) -> None:
    if may_adjudicate(request.user):
        raise PermissionDenied("Readers must not be able to look gold up, and your role can. Ask an annotator to read.")


def _own_seat(request: HttpRequest, pk: int) -> Seat:
    _check_blind(request)
    return get_object_or_404(Seat.objects.select_related("item__reading"), pk=pk, reader_id=request.user.pk)


@require_POST
@require(may_annotate)
def next_item(request: HttpRequest) -> HttpResponse:
    _check_blind(request)
    seat = next_seat(reader_id=int(request.user.pk or 0), now=timezone.now())
    if seat is None:
        messages.info(request, "Nothing is left for you to read.")
        return redirect("annotate")
    return redirect("read", pk=seat.pk)


@never_cache
@require_http_methods(["GET", "POST"])
@require(may_annotate)
def read(request: HttpRequest, pk: int) -> HttpResponse:
    """GET shows the item with its questions; POST submits."""
    seat = _own_seat(request, pk)
    if request.method == "GET":
        return _page(request, seat)
    draft = draft_of(seat.item, dict(request.POST.lists()))
    try:
        stored = answer(seat, draft, timezone.now())
    except (OpenQuestions, ValueError) as error:
        seat.draft = draft
        return _page(request, seat, error=error)
    following = next_seat(reader_id=seat.reader_id, now=timezone.now())
    if stored:
        messages.success(request, "Submitted." if following else "Submitted. That was the last one for you.")
    return redirect("annotate") if following is None else redirect("read", pk=following.pk)


def _page(request: HttpRequest, seat: Seat, *, error: Exception | None = None) -> HttpResponse:
    shown = seat.item.content
    missing = error.positions if isinstance(error, OpenQuestions) else ()
    done = seat.item.reading.items.filter(seats__reader_id=seat.reader_id, seats__answered_at__isnull=False)
    context = {
        "seat": seat,
        "item": shown,
        "questions": [
            {
                **question,
                "number": number,
                "picked": seat.draft.get(question["id"], {}),
                "missing": number in missing,
            }
            for number, question in enumerate(shown["questions"], 1)
        ],
        "remarks": REMARKS.items(),
        "error": error,
        "place": done.count() + (seat.answered_at is None),
        "size": seat.item.reading.items.count(),
        "comment_chars": LONGEST_COMMENT,
        "answered": seat.answered_at is not None,
    }
    return render(request, "annotation/reading.html", context, status=422 if error else 200)


@never_cache
@require_POST
@require(may_annotate)
def save_reading(request: HttpRequest, pk: int) -> HttpResponse:
    """Autosave of the whole page; answers with the fragment that says when it was kept."""
    seat, now = _own_seat(request, pk), timezone.now()
    try:
        kept = save_draft(seat, draft_of(seat.item, dict(request.POST.lists())), now)
        problem = "" if kept else "You have submitted this item; nothing of it can change."
    except ValueError as error:
        problem = str(error)
    context = {"saved_at": None if problem else now, "problem": problem}
    return render(request, "annotation/reading.html#progress", context, status=422 if problem else 200)


@require_http_methods(["GET", "POST"])
@require(may_launch)
def new_reading(request: HttpRequest) -> HttpResponse:
    form = ReadingForm(request.POST or None, initial={"modes": ["gold", "none"]})
    if request.method == "POST" and form.is_valid():
        chosen = form.cleaned_data
        try:
            reading = create_reading(
                dataset=chosen["dataset"],
                modes=form.all_modes(),
                run=chosen["run"],
                size=chosen["size"],
                seed=chosen["seed"],
                readers_wanted=chosen["readers_wanted"],
                created_by=request.user,
            )
        except (NothingToRead, ValueError) as error:
            form.add_error(None, str(error))
        else:
            count = reading.items.count()
            messages.success(
                request, f"Reading {reading.pk} holds {count} items for {reading.readers_wanted} readers each."
            )
            return redirect("new_reading")
    context = {"form": form, "readings": reading_progress(), "has_datasets": Dataset.objects.filter(complete=True)}
    return render(request, "annotation/new_reading.html", context, status=422 if form.errors else 200)
