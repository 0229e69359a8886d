"""Datasets and the histories in them. Gold labels are for adjudicators and administrators."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from bench.access import may_adjudicate
from bench.audit.report import answers_of, disputed, reports
from bench.generation.tiers import tier_shares
from bench.models import EventRole
from bench.pages.nouns import check_results, see_dataset, see_persona
from bench.pages.queries import datasets as queries
from bench.pages.queries.timeline import timeline

EVENTS_PER_PAGE = 80


def dataset_list(request: HttpRequest) -> HttpResponse:
    check_results(request.user)
    return render(request, "pages/dataset_list.html", {"datasets": queries.newest_of_each()})


def dataset(request: HttpRequest, name: str) -> HttpResponse:
    shown = see_dataset(request.user, name)
    answers = answers_of(shown)
    context = {
        "dataset": shown,
        "audit": reports(answers),
        "gold": may_adjudicate(request.user),
        "errata": disputed(answers) if may_adjudicate(request.user) else [],
        "versions": queries.versions(name),
        "personas": queries.personas(shown),
        "by_domain": queries.tasks_by_domain(shown),
        "tiers": tier_shares(shown),
        "conflicts": shown.summary.get("conflicts", {}),
    }
    return render(request, "pages/dataset.html", context)


def persona(request: HttpRequest, name: str, slug: str) -> HttpResponse:
    shown = see_persona(request.user, name, slug)
    gold = may_adjudicate(request.user)
    asked = {key: request.GET.get(key, "") for key in ("channel", "role", "words", "when")}
    page = Paginator(queries.history(shown, gold=gold, **asked), EVENTS_PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "persona": shown,
        "gold": gold,
        "asked": asked,
        "page_obj": page,
        "line": timeline(shown, gold=gold),
        "channels": queries.channels(shown),
        "roles": EventRole.choices,
        "tasks": shown.tasks.select_related("scenario__domain").defer("world", "tools"),
    }
    return render(request, "pages/persona.html", context)
