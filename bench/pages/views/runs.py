"""The list of runs, the launch form, and the live page of one run."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST
from django.views.decorators.vary import vary_on_headers
from django_htmx.http import HttpResponseClientRedirect

from bench.access import may_launch, require
from bench.asked import one_of
from bench.grading.coverage import silence_warnings
from bench.grading.panel import panel_warnings
from bench.models import Run, RunStatus
from bench.pages import numbers
from bench.pages.forms import BudgetForm, LaunchForm
from bench.pages.nouns import check_results, see_run
from bench.pages.queries import overview
from bench.pages.queries import runs as queries
from bench.results.report import results_of
from bench.results.rows import ACTIONS, SPLITS, VIEWS
from bench.runs.claim import cancel_run, pause_run, resume_run, retry_failed
from bench.runs.fence import GoldWasRead
from bench.runs.launch import LaunchError, launch_run, plan_run, set_budget
from bench.runs.progress import Progress, progress_of
from bench.runs.tasks import dispatch

PER_PAGE = 30


def run_list(request: HttpRequest) -> HttpResponse:
    check_results(request.user)
    runs = Run.objects.select_related("dataset", "created_by").defer("results", "agreement")
    page = Paginator(runs, PER_PAGE).get_page(request.GET.get("page"))
    counts = queries.unit_counts(list(page))
    rows = [(run, counts.get(run.pk, {"planned": 0, "done": 0, "failed": 0})) for run in page]
    return render(
        request, "pages/run_list.html", {"page_obj": page, "rows": rows, "may_launch": may_launch(request.user)}
    )


@require(may_launch)
def run_new(request: HttpRequest) -> HttpResponseBase:
    form = LaunchForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            run = launch_run(form.wish(), user=request.user)
        except LaunchError as error:
            form.add_error(error.field or None, str(error))
        else:
            return _to_run(request, run)
    invalid = bool(form.errors)
    counted = LaunchForm(request.POST if form.is_bound else form.data_for_get())
    context = {"form": form, **_units(counted)}
    fragment = "#launch-form" if _is_htmx(request) else ""
    return render(request, f"pages/run_new.html{fragment}", context, status=422 if invalid else 200)


@require_GET
@require(may_launch)
def run_units(request: HttpRequest) -> HttpResponse:
    """The launch button with the number of units that the form asks for."""
    return render(request, "pages/run_new.html#launch-units", _units(LaunchForm(request.GET)))


def _units(form: LaunchForm) -> dict[str, Any]:
    """``units`` to be launched, or None and in ``why_not`` the reason."""
    if not form.is_valid():
        field, errors = next(iter(form.errors.items()))
        return {"units": None, "why_not": f"{field.replace('_', ' ')}: {errors[0]}"}
    try:
        return {"units": plan_run(form.wish()).units, "why_not": ""}
    except LaunchError as error:
        return {"units": None, "why_not": str(error)}


def _to_run(request: HttpRequest, run: Run) -> HttpResponseBase:
    url = reverse("run-detail", args=[run.pk])
    return HttpResponseClientRedirect(url) if _is_htmx(request) else redirect(url)


@vary_on_headers("HX-Request")
def run_detail(request: HttpRequest, pk: int) -> HttpResponse:
    run = see_run(request.user, pk)
    fragment = "#run-live" if _is_htmx(request) else ""
    return render(request, f"pages/run_detail.html{fragment}", _detail(request, run))


def _detail(request: HttpRequest, run: Run) -> dict[str, Any]:
    progress = progress_of(run)
    domains = queries.domains_of(progress)
    context: dict[str, Any] = {
        "run": run,
        "progress": progress,
        "is_over": RunStatus(run.status).is_over,
        "domains": domains,
        "rows": queries.progress_rows(run, progress, domains),
        "calls": queries.recent_calls(run),
        "ends": numbers.clock(progress.ends_at, timezone.now()),
        "may_launch": may_launch(request.user),
        "judges": [judge["slug"] for judge in run.manifest["judges"]],
        "panel_warnings": panel_warnings(run.manifest["judges"], run.manifest.get("model", {})),
        "retry_words": _retry_words(progress),
        "budget_form": BudgetForm(initial={"budget_usd": run.budget_usd}),
    }
    if context["is_over"]:
        context |= _results(run, request)
    return context


def _retry_words(progress: Progress) -> str:
    """What the button says that tries again what failed and what judges left open; "" where there is nothing."""
    parts = [f"{progress.failed:,} failed"] if progress.failed else []
    parts += [f"{progress.unanswered:,} without a judge's verdict"] if progress.unanswered else []
    return f"Retry {' and '.join(parts)}" if parts else ""


def _results(run: Run, request: HttpRequest) -> dict[str, Any]:
    view = one_of(VIEWS, request.GET.get("view", "")) or "combined"
    split, action = one_of(SPLITS, request.GET.get("split", "")), one_of(ACTIONS, request.GET.get("action", ""))
    results = results_of(run, view, split, action)
    cells = overview.ranked(results["cells"])
    return {
        "view": view,
        "views": VIEWS,
        "split": split,
        "splits": SPLITS,
        "action": action,
        "actions": ACTIONS,
        "cells": cells,
        "pairs": overview.pair_rows(results["paired"], results["paired_by_action"]),
        "judge_coverage": results["judges"],
        "silence_warnings": list(silence_warnings(results["judges"])),
        "sides": queries.side_rows(results, [cell["method"] for cell in cells]),
        "any_graded": bool(results["human_calibrated"]),
        "repeats": run.manifest["repeats"],
    }


@require_POST
@require(may_launch)
def run_act(request: HttpRequest, pk: int, verb: str) -> HttpResponse:
    """Pause, resume, cancel, or retry what failed; then back to the page of the run."""
    run = see_run(request.user, pk)
    if verb == "pause":
        pause_run(run.pk)
    elif verb == "cancel":
        cancel_run(run.pk)
    elif verb == "resume":
        try:
            resume_run(run.pk)
        except GoldWasRead as error:
            messages.error(request, f"{str(error)[0].upper()}{str(error)[1:]}.")
        dispatch(run.pk)
    else:
        count = retry_failed(run.pk)
        dispatch(run.pk)
        messages.success(request, f"{count:,} units are queued again; what was paid for and can be used is replayed.")
    return redirect("run-detail", pk=run.pk)


@require_POST
@require(may_launch)
def run_budget(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Raise, lower or lift the run's budget. What does not fit comes back with the form and 422."""
    run = see_run(request.user, pk)
    form = BudgetForm(request.POST)
    if form.is_valid():
        try:
            set_budget(run.pk, form.cleaned_data["budget_usd"])
        except LaunchError as error:
            form.add_error("budget_usd", str(error))
        else:
            return _to_run(request, run)
    context = {**_detail(request, run), "budget_form": form}
    fragment = "#run-budget" if _is_htmx(request) else ""
    return render(request, f"pages/run_detail.html{fragment}", context, status=422)


def _is_htmx(request: HttpRequest) -> bool:
    return bool(request.htmx)  # type: ignore[attr-defined]
