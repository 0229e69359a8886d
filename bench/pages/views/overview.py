"""The start page and the pages of the domains."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from bench.access import Role, may_launch, role_of
from bench.asked import one_of
from bench.models import Domain
from bench.pages.nouns import check_results, see_domain, see_run_named
from bench.pages.queries import heat
from bench.pages.queries import overview as queries
from bench.results.report import results_of
from bench.results.rows import ACTIONS, SPLITS


def dashboard(request: HttpRequest) -> HttpResponse:
    if role_of(request.user) is Role.ANNOTATOR:
        return redirect("/annotate/")
    check_results(request.user)
    context = _of_choice(request)
    if (results := context.get("results")) is not None:
        run, cells = context["run"], context["cells"]
        methods = [cell["method"] for cell in cells]
        pairs = queries.pair_rows(results["paired"], results["paired_by_action"])
        context |= {
            "forest": queries.success_forest(cells, simulated=run.simulated),
            "heat": heat.success_by_domain(cells, list(Domain.objects.all())),
            "gaps": queries.gap_tables(results["lost_at"], results["lost_at_by_action"], "", methods),
            "methods": methods,
            "against": queries.against(cells, pairs),
        }
    return render(request, "pages/dashboard.html", context)


def domain(request: HttpRequest, slug: str) -> HttpResponse:
    shown = see_domain(request.user, slug)
    context = _of_choice(request) | {"domain": shown, "domains": Domain.objects.all()}
    if (results := context.get("results")) is not None:
        run, methods = context["run"], [cell["method"] for cell in context["cells"]]
        narrowed = {"split": context["split"], "action": context["action"]}
        calibrated = {m: one["by_domain"].get(slug) for m, one in results["human_calibrated"].items()}
        context |= {
            "methods": methods,
            "here": [(cell, cell["by_domain"].get(slug), calibrated.get(cell["method"])) for cell in context["cells"]],
            "any_graded": any(one and one["n_human"] for one in calibrated.values()),
            "forest": queries.success_forest(context["cells"], simulated=run.simulated, domain=slug),
            "scenarios": heat.success_by_scenario(run, shown, methods, **narrowed),
            "dimensions": heat.satisfaction_by_dimension(run, shown, methods, **narrowed),
            "gaps": queries.gap_tables(results["lost_at"], results["lost_at_by_action"], slug, methods),
        }
    return render(request, "pages/domain.html", context)


def _of_choice(request: HttpRequest) -> dict[str, Any]:
    """The chosen run with its cells in rank order, narrowed to the tasks of the chosen split and kind of action."""
    asked = see_run_named(request.user, request.GET.get("run", ""))
    split = one_of(SPLITS, request.GET.get("split", ""))
    action = one_of(ACTIONS, request.GET.get("action", ""))
    choice = queries.choose_run(asked, simulated=request.GET.get("simulated") == "1")
    context: dict[str, Any] = {"choice": choice, "run": choice.run, "may_launch": may_launch(request.user)}
    context |= {"split": split, "splits": SPLITS, "action": action, "actions": ACTIONS}
    if choice.run is not None:
        results = results_of(choice.run, split=split, action=action)
        context |= {"results": results, "cells": queries.ranked(results["cells"])}
    return context
