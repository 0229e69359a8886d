"""One trajectory, and lists of them."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from agents.contract.serialise import from_json
from bench.pages.nouns import see_run_named, see_trajectory
from bench.pages.queries import trajectories as queries

PER_PAGE = 40


def trajectory(request: HttpRequest, pk: int) -> HttpResponse:
    shown = see_trajectory(request.user, pk)
    try:
        course = from_json(shown.data)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        context = {"trajectory": shown, "run": shown.unit.run, "problem": f"{type(error).__name__}: {error}"}
        return render(request, "pages/trajectory_plain.html", context)
    before, after = queries.neighbours(shown)
    seen = {event_id for e in course.evidence for event_id in (e.event_id, *e.support)}
    context = {
        "trajectory": shown,
        "unit": shown.unit,
        "task": shown.unit.task,
        "run": shown.unit.run,
        "course": course,
        "because": queries.because(course),
        "active": queries.with_events(course, active=True),
        "set_aside": queries.with_events(course, active=False),
        "graded": queries.graded(shown),
        "seen": seen,
        "before": before,
        "after": after,
        "siblings": queries.siblings(shown),
    }
    return render(request, "pages/trajectory.html", context)


def trajectory_list(request: HttpRequest) -> HttpResponse:
    see_run_named(request.user, request.GET.get("run", ""))
    asked = {name: str(value) for name, value in request.GET.items() if value}
    page = Paginator(queries.matching(asked), PER_PAGE).get_page(request.GET.get("page"))
    narrowed = {name: value for name, value in asked.items() if name != "page"}
    return render(request, "pages/trajectory_list.html", {"page_obj": page, "asked": narrowed})
