"""The adjudicator's list and one case a screen."""

from __future__ import annotations

from collections import defaultdict

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from annotation.adjudication import REASON_CHARS, AlreadySettled, Case, find_case, next_case, settle
from bench.access import may_adjudicate, require
from bench.asked import number
from bench.grading.types import VerdictValue
from bench.models import CheckpointScore

A_PAGE = 50


@never_cache
@require_GET
@require(may_adjudicate)
def cases(request: HttpRequest) -> HttpResponse:
    open_cases = CheckpointScore.objects.to_adjudicate().select_related(
        "checkpoint", "trajectory__unit__run", "trajectory__unit__task__scenario__domain"
    )
    page = Paginator(open_cases, A_PAGE).get_page(request.GET.get("page"))
    return render(request, "annotation/cases.html", {"page_obj": page, "count": page.paginator.count})


@never_cache
@require_http_methods(["GET", "POST"])
@require(may_adjudicate)
def case(request: HttpRequest, trajectory_id: int, checkpoint_id: int) -> HttpResponse:
    try:
        found = find_case(
            trajectory_id=trajectory_id, checkpoint_id=checkpoint_id, adjudicator_id=int(request.user.pk or 0)
        )
        if request.method == "GET":
            return _screen(request, found)
        settle(
            trajectory_id=trajectory_id,
            checkpoint_id=checkpoint_id,
            adjudicator=request.user,
            value=request.POST.get("value", ""),
            reason=request.POST.get("reason", "").replace("\r\n", "\n").replace("\x00", ""),
            seen=number(request.POST.get("seen", "")),
        )
    except CheckpointScore.DoesNotExist as error:
        raise Http404("There is no such checkpoint on this trajectory.") from error
    except AlreadySettled as error:
        messages.info(request, str(error))
        return redirect("adjudicate")
    except ValueError as error:
        return _screen(request, found, problem=str(error), status=422)
    following = next_case(after=(trajectory_id, found.score.checkpoint.position))
    if following is None:
        messages.success(request, "Settled. No case is left.")
        return redirect("adjudicate")
    messages.success(request, "Settled; the score is computed anew. This is the next case.")
    return redirect("case", trajectory_id=following.trajectory_id, checkpoint_id=following.checkpoint_id)


def _screen(request: HttpRequest, found: Case, *, problem: str = "", status: int = 200) -> HttpResponse:
    marks: dict[str, list[str]] = defaultdict(list)
    for column in found.raters:
        if column.anchor:
            marks[column.anchor.name].append(column.label)
    context = {
        "case": found,
        "checkpoint": found.score.checkpoint,
        "transcript": found.transcript,
        "marks": marks,
        "simulated": found.score.trajectory.unit.run.simulated,
        "open_cases": CheckpointScore.objects.to_adjudicate().count(),
        "problem": problem,
        "value": request.POST.get("value", ""),
        "reason": request.POST.get("reason", ""),
        "reason_chars": REASON_CHARS,
        "grades": [
            ("p", VerdictValue.PASS.value),
            ("f", VerdictValue.FAIL.value),
            ("c", VerdictValue.CANNOT_JUDGE.value),
        ],
    }
    return render(request, "annotation/case.html", context, status=status)
