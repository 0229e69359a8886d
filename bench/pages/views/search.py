"""The search field of the navigation: runs, tasks, domains, datasets, personas by name."""

from __future__ import annotations

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from bench.asked import number
from bench.models import Dataset, Domain, Persona, Run, Scenario, Trajectory
from bench.pages.nouns import check_results

AT_MOST = 12


def search(request: HttpRequest) -> HttpResponse:
    check_results(request.user)
    words = request.GET.get("q", "").strip()
    kind, _, digits = words.lower().rpartition(" ")
    if kind in {"run", "trajectory"} and number(digits) is not None:
        return redirect(f"{kind}-detail" if kind == "run" else kind, pk=int(digits))
    return render(request, "pages/search.html", {"words": words, **(_found(words) if words else {})})


def _found(words: str) -> dict[str, object]:
    by_name = Q(name__icontains=words) | Q(slug__icontains=words)
    tasks = Trajectory.objects.filter(
        Q(unit__task__slug__icontains=words) | Q(unit__task__request__icontains=words)
    ).select_related("unit__task", "unit__run")
    return {
        "runs": Run.objects.filter(Q(pk=number(words)) | Q(model__icontains=words)).select_related("dataset")[:AT_MOST],
        "trajectories": tasks.defer("data").order_by("-pk")[:AT_MOST],
        "domains": Domain.objects.filter(by_name),
        "scenarios": Scenario.objects.current().filter(by_name).select_related("domain")[:AT_MOST],
        "datasets": Dataset.objects.filter(name__icontains=words, complete=True)[:AT_MOST],
        "personas": Persona.objects.filter(by_name).select_related("dataset")[:AT_MOST],
    }
