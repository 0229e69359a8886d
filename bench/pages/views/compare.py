"""Two methods side by side: the knowledge-to-action funnel first."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from agents.registry import resolve
from bench.asked import one_of
from bench.generation.spec import Tier
from bench.models import Run
from bench.pages.nouns import check_results, see_run_named
from bench.pages.queries import compare as queries
from bench.pages.queries import rates
from bench.pages.queries.overview import choose_run, success_forest
from bench.results.report import results_of
from bench.results.rows import ACTIONS


def compare(request: HttpRequest) -> HttpResponse:
    """``run`` and ``a`` against ``with`` (else the same run) and ``b``; by ``domain``, ``tier``, ``conflict``."""
    check_results(request.user)
    asked = see_run_named(request.user, request.GET.get("run", ""))
    run = asked or choose_run(None, simulated=False).run
    other = see_run_named(request.user, request.GET.get("with", "")) or run
    if run is None or other is None:
        return render(request, "pages/compare.html")
    context: dict[str, Any] = {
        "runs": queries.offered_runs(run, other),
        "run": run,
        "other": other,
        "refused": queries.why_not_comparable(run, other),
        "methods_a": run.manifest["methods"],
        "methods_b": other.manifest["methods"],
    }
    a, b = _sides(request, run, other)
    context |= {"a": a, "b": b, "action": one_of(ACTIONS, request.GET.get("action", "")), "actions": ACTIONS}
    if not context["refused"]:
        context |= _comparison(request, a, b, context["action"])
    return render(request, "pages/compare.html", context)


def _sides(request: HttpRequest, run: Run, other: Run) -> tuple[queries.Side, queries.Side]:
    methods_a, methods_b = run.manifest["methods"], other.manifest["methods"]
    a = request.GET.get("a") if request.GET.get("a") in methods_a else methods_a[0]
    b = request.GET.get("b") if request.GET.get("b") in methods_b else _rival(str(a), methods_b)
    return queries.Side(run, str(a)), queries.Side(other, str(b))


def _rival(a: str, methods: list[str]) -> str:
    """The first baseline beside ``a``; an ablation or the oracle only where there is nothing else."""
    others = [method for method in methods if method != a]
    baselines = [method for method in others if "-" not in method and not resolve(method).uses_gold]
    return (baselines or others or methods)[0]


def _comparison(request: HttpRequest, a: queries.Side, b: queries.Side, action: str) -> dict[str, Any]:
    tier = one_of(list(Tier), request.GET.get("tier", ""))
    only = queries.Narrowed(request.GET.get("domain", ""), request.GET.get("conflict", ""), action, tier)
    cells = [
        cell
        for side in (a, b)
        for cell in results_of(side.run, action=action)["cells"]
        if cell["method"] == side.method
    ]
    paired = queries.paired(a, b, action)
    names, parts = queries.domain_names(), paired["domain_parts"]
    return {
        "domain": only.domain,
        "conflict": only.conflict,
        "domain_names": names,
        "tier": only.tier,
        "tiers": rates.tier_rates(a, b, action),
        "conflict_kinds": queries.conflict_kinds(a.run),
        "funnels": [queries.funnel_rows(side, only) for side in (a, b)],
        "conflicts": rates.conflict_rates(a, b, action),
        "cells": cells,
        "forest": success_forest(cells, simulated=a.run.simulated) if a.method != b.method else None,
        "paired": paired,
        "domain_forest": queries.difference_forest(paired["domains"], names, simulated=a.run.simulated),
        "domain_rows": [
            {"name": names.get(pair["domain"], pair["domain"]), "pair": pair, "parts": parts.get(pair["domain"], ())}
            for pair in paired["domains"]
        ],
    }
