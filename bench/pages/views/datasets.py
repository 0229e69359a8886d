"""Datasets and the histories in them. Gold labels are for adjudicators and administrators."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from bench.access import may_adjudicate, may_launch, require
from bench.audit.report import answers_of, disputed, reports
from bench.generation.tiers import tier_shares
from bench.grading.errata import put_back, retire
from bench.models import Checkpoint, EventRole
from bench.pages.nouns import check_results, see_dataset, see_persona
from bench.pages.queries import datasets as queries
from bench.pages.queries.timeline import timeline

EVENTS_PER_PAGE = 80
TURNED_DOWN = 100  # texts of a model's that a page shows at most


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
        "retired": queries.retired(shown) if may_adjudicate(request.user) else [],
        "may_retire": may_launch(request.user),
        "turned_down": shown.rejected_texts.all()[:TURNED_DOWN] if may_adjudicate(request.user) else [],
        "versions": queries.versions(name),
        "personas": queries.personas(shown),
        "by_domain": queries.tasks_by_domain(shown),
        "tiers": tier_shares(shown),
        "conflicts": shown.summary.get("conflicts", {}),
    }
    return render(request, "pages/dataset.html", context)


@require_POST
@require(may_launch)
def erratum(request: HttpRequest, name: str, pk: int, verb: str) -> HttpResponse:
    """Retire a checkpoint of the newest version, or put it back; scores of its runs follow at once."""
    shown = see_dataset(request.user, name)
    checkpoint = get_object_or_404(Checkpoint, pk=pk, task__persona__dataset=shown)
    by = request.user.get_username()
    try:
        if verb == "retire":
            retire(checkpoint.pk, reason=request.POST.get("reason", "").replace("\x00", ""), by=by)
        else:
            put_back(checkpoint.pk, by=by)
    except ValueError as error:
        messages.error(request, str(error))
    else:
        shown.refresh_from_db()
        done = "is retired" if verb == "retire" else "counts again"
        messages.success(request, f"Checkpoint {checkpoint.pk} {done}. The dataset is {shown} now; scores follow.")
    return redirect(f"{reverse('dataset', args=[name])}#errata")


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
