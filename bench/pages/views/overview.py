"""The start page and the pages of the domains."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from bench.access import Role, may_launch, role_of
from bench.models import Domain
from bench.pages.nouns import check_results, see_domain, see_run_named
from bench.pages.queries import overview as queries
from bench.results.losses import stage_shares
from bench.results.report import results_of
from bench.results.rows import SPLITS


def dashboard(request: HttpRequest) -> HttpResponse:
    if role_of(request.user) is Role.ANNOTATOR:
        return redirect("/annotate/")
    check_results(request.user)
    context = _of_choice(request)
    if context["run"] is not None:
        run, cells = context["run"], context["cells"]
        methods = [cell["method"] for cell in cells]
        context |= {
            "forest": queries.success_forest(cells, simulated=run.simulated),
            "heat": queries.heat(cells, list(Domain.objects.all())),
            "gaps": queries.gap_table(stage_shares(context["losses"]), methods),
            "methods": methods,
            "against": queries.against(cells, context["paired"]),
        }
    return render(request, "pages/dashboard.html", context)


def domain(request: HttpRequest, slug: str) -> HttpResponse:
    shown = see_domain(request.user, slug)
    context = _of_choice(request) | {"domain": shown, "domains": Domain.objects.all()}
    run = context["run"]
    if run is not None:
        context["methods"] = [cell["method"] for cell in context["cells"]]
        context |= {
            "here": [(cell, cell["by_domain"].get(slug)) for cell in context["cells"]],
            "forest": queries.success_forest(context["cells"], simulated=run.simulated, domain=slug),
            "scenarios": queries.success_by_scenario(run, shown, context["split"]),
            "dimensions": queries.satisfaction_by_dimension(run, shown, context["split"]),
            "gaps": queries.gap_table(stage_shares(context["losses"], slug), context["methods"]),
        }
    return render(request, "pages/domain.html", context)


def _of_choice(request: HttpRequest) -> dict[str, Any]:
    """The chosen run with its cells in rank order, narrowed to the tasks of the chosen split."""
    asked = see_run_named(request.user, request.GET.get("run", ""))
    split = request.GET.get("split", "")
    split = split if split in SPLITS else ""
    choice = queries.choose_run(asked, simulated=request.GET.get("simulated") == "1")
    context: dict[str, Any] = {"choice": choice, "run": choice.run, "may_launch": may_launch(request.user)}
    context |= {"split": split, "splits": SPLITS}
    if choice.run is not None:
        results = results_of(choice.run, split=split)
        context |= {"cells": queries.ranked(results["cells"]), "paired": results["paired"], "losses": results["losses"]}
    return context
