"""The start page and the pages of the domains."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from bench.dashboards.nouns import check_results, see_domain
from bench.dashboards.queries import overview as queries
from bench.models import Domain
from bench.scoring.losses import stage_shares
from bench.scoring.results import results_of
from bench.scoring.rows import SPLITS
from iba_site.access import Role, may_launch, role_of


def dashboard(request: HttpRequest) -> HttpResponse:
    if role_of(request.user) is Role.ANNOTATOR:
        return redirect("/annotate/")
    check_results(request.user)
    asked = request.GET.get("split", "")
    context = _of_choice(request, asked if asked in SPLITS else "") | {"splits": SPLITS}
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
    return render(request, "dashboards/dashboard.html", context)


def domain(request: HttpRequest, slug: str) -> HttpResponse:
    shown = see_domain(request.user, slug)
    context = _of_choice(request) | {"domain": shown, "domains": Domain.objects.all()}
    run = context["run"]
    if run is not None:
        context["methods"] = [cell["method"] for cell in context["cells"]]
        context |= {
            "here": [(cell, cell["by_domain"].get(slug)) for cell in context["cells"]],
            "forest": queries.success_forest(context["cells"], simulated=run.simulated, domain=slug),
            "scenarios": queries.success_by_scenario(run, shown),
            "dimensions": queries.satisfaction_by_dimension(run, shown),
            "gaps": queries.gap_table(stage_shares(context["losses"], slug), context["methods"]),
        }
    return render(request, "dashboards/domain.html", context)


def _of_choice(request: HttpRequest, split: str = "") -> dict[str, Any]:
    """The chosen run with its cells in rank order; ``split`` narrows to the tasks of its personas."""
    asked = request.GET.get("run", "")
    choice = queries.choose_run(asked, simulated=request.GET.get("simulated") == "1")
    context: dict[str, Any] = {"choice": choice, "run": choice.run, "may_launch": may_launch(request.user)}
    if choice.run is not None:
        results = results_of(choice.run, split=split)
        context |= {"cells": queries.ranked(results["cells"]), "paired": results["paired"]}
        context |= {"split": split, "losses": results["losses"]}
    return context
