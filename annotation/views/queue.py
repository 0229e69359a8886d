"""The rater's queue, and the page where an administrator fills it."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation.batches import Choice, NothingToGrade, create_batch, own_counts, progress, submitted_since
from annotation.forms import BatchForm
from annotation.grading import checkpoints
from annotation.models import Assignment, SetAside
from annotation.queue import free_ended, own_open, put_back, take_next, waiting
from annotation.reading import begun_item, open_items
from bench.access import may_adjudicate, may_annotate, may_launch, require
from bench.models import Run, Scenario


@require_GET
@require(may_annotate)
def queue(request: HttpRequest) -> HttpResponse:
    rater_id, now = int(request.user.pk or 0), timezone.now()
    free_ended(now=now)
    begun = own_open(rater_id=rater_id)
    context = {
        "begun": begun,
        "graded": begun.drafts.exclude(value="").count() if begun else 0,
        "checkpoints": checkpoints(begun).count() if begun else 0,
        "scenario": _scenario(begun) if begun else None,
        "waiting": waiting(rater_id=rater_id).count(),
        "today": submitted_since(rater_id=rater_id, since=now.replace(hour=0, minute=0, second=0, microsecond=0)),
        "batches": own_counts(rater_id=rater_id),
        "may_launch": may_launch(request.user),
        "to_read": 0 if may_adjudicate(request.user) else open_items(reader_id=rater_id, now=now).count(),
        "reading": begun_item(reader_id=rater_id),
    }
    return render(request, "annotation/queue.html", context)


def _scenario(begun: Assignment) -> Scenario:
    return Scenario.objects.select_related("domain").get(tasks__units__trajectory=begun.trajectory_id)


@require_POST
@require(may_annotate)
def next_assignment(request: HttpRequest) -> HttpResponse:
    taken = take_next(rater_id=int(request.user.pk or 0), now=timezone.now())
    if taken is None:
        messages.info(request, "Nothing is left for you to grade.")
        return redirect("annotate")
    return redirect("grade", pk=taken.pk)


@require_http_methods(["GET", "POST"])
@require(may_launch)
def new_batch(request: HttpRequest) -> HttpResponse:
    form = BatchForm(request.POST or None, initial={"run": request.GET.get("run")})
    if request.method == "POST" and form.is_valid():
        chosen = form.cleaned_data
        try:
            batch = create_batch(
                run=chosen["run"],
                choice=Choice(chosen["choice"]),
                domain=chosen["domain"].slug if chosen["domain"] else "",
                size=chosen["size"],
                raters_wanted=chosen["raters_wanted"],
                name=chosen["name"],
                created_by=request.user,
            )
        except NothingToGrade as error:
            form.add_error(None, str(error))
        else:
            made = batch.trajectories.count()
            messages.success(
                request, f"Batch {batch.pk} holds {made} trajectories for {batch.raters_wanted} raters each."
            )
            return redirect("new_batch")
    aside = SetAside.objects.select_related("trajectory__unit")
    context = {"form": form, "batches": progress(), "has_runs": Run.objects.exists(), "set_aside": aside}
    return render(request, "annotation/new_batch.html", context, status=422 if form.errors else 200)


@require_POST
@require(may_launch)
def hand_out_again(request: HttpRequest, trajectory_id: int) -> HttpResponse:
    put_back(trajectory_id=trajectory_id)
    messages.success(request, f"Trajectory {trajectory_id} is handed to raters again.")
    return redirect("new_batch")
