"""Batches: which trajectories of a run raters should grade, and how many raters each."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db import transaction
from django.db.models import Count, Exists, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation.models import Assignment, Batch, Place
from bench.grading.store import rubric_version
from bench.models import CheckpointScore, Run, Trajectory


class Choice(StrEnum):
    """Which trajectories a batch is made of."""

    AUDIT = "audit"  # the random slice, whatever the judges said
    ESCALATED = "escalated"  # what judges disagree on; the audit slice is left to its own batch
    DOMAIN = "domain"  # all of one domain


class NothingToGrade(ValueError):
    """The choice holds no trajectory that is not in a batch already."""


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """``committed`` of ``wanted`` gradings are in."""

    batch: Batch
    trajectories: int
    committed: int
    wanted: int


def candidates(*, run: Run, choice: Choice, domain: str = "") -> QuerySet[Trajectory]:
    """Trajectories of the run that fit and are in no batch of this rubric version.

    Those that ended for a reason outside the agent are left out: there is nothing to grade.
    ``domain`` is a slug; it narrows any choice, and ``Choice.DOMAIN`` needs it.
    """
    if choice is Choice.DOMAIN and not domain:
        raise ValueError("a batch of one domain needs the domain's slug")
    batched = Place.objects.filter(batch__run=run, batch__rubric_version=rubric_version())
    found = Trajectory.objects.filter(unit__run=run, infrastructure=False)
    found = found.exclude(pk__in=batched.values("trajectory_id"))
    if domain:
        found = found.filter(unit__task__scenario__domain__slug=domain)
    if choice is Choice.AUDIT:
        found = found.filter(audit=True)
    if choice is Choice.ESCALATED:
        escalated = CheckpointScore.objects.filter(trajectory_id=OuterRef("pk")).exclude(escalate="")
        found = found.filter(Exists(escalated), audit=False)
    return found


@transaction.atomic
def create_batch(
    *,
    run: Run,
    choice: Choice,
    size: int,
    raters_wanted: int,
    created_by: Any,
    domain: str = "",
    name: str = "",
) -> Batch:
    """A batch of up to ``size`` trajectories for ``raters_wanted`` raters each (both 1 or more).

    Which ones is a draw that only looks at ids, so a cut audit slice stays
    random and methods come mixed. Raises NothingToGrade.
    """
    if size < 1 or raters_wanted < 1:
        raise ValueError(f"size is {size} and raters_wanted {raters_wanted}; both must be 1 or more")
    Run.objects.select_for_update(no_key=True).get(pk=run.pk)
    ids = list(candidates(run=run, choice=choice, domain=domain).values_list("pk", flat=True))
    if not ids:
        where = f" in {domain}" if domain else ""
        raise NothingToGrade(
            f"Run {run.pk} has no {choice.value} trajectories{where} that are not in a batch already. "
            "Choose another group or another run."
        )
    batch = Batch.objects.create(
        run=run,
        name=name or f"{choice.value} {domain}".strip(),
        raters_wanted=raters_wanted,
        rubric_version=rubric_version(),
        created_by=created_by,
    )
    drawn = sorted(ids, key=lambda pk: _draw(run.pk, pk))[:size]
    Place.objects.bulk_create(Place(batch=batch, trajectory_id=pk, wanted=raters_wanted) for pk in drawn)
    return batch


def _draw(run_id: int, trajectory_id: int) -> bytes:
    return hashlib.sha256(f"batch:{run_id}:{trajectory_id}".encode()).digest()


def progress() -> list[BatchProgress]:
    """Every batch, the newest first, with how far it is."""
    counted = _counted(Batch.objects.select_related("run"))
    return [BatchProgress(b, b.size, b.done, b.size * b.raters_wanted) for b in counted]


def _counted(batches: QuerySet[Batch]) -> QuerySet[Any]:
    """The newest first, with ``size`` and ``done`` gradings. Each is counted by itself: joined, every trajectory would
    meet every grading."""
    places = Place.objects.filter(batch_id=OuterRef("pk"))
    graded = Assignment.objects.filter(batch_id=OuterRef("pk"), committed_at__isnull=False)
    return batches.annotate(size=_count(places), done=_count(graded)).order_by("-id")


def _count(rows: QuerySet[Any]) -> Coalesce:
    """How many of the rows belong to the outer batch."""
    counted = rows.order_by().values("batch_id").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


@dataclass(frozen=True, slots=True)
class OwnCount:
    """One rater's share of one batch. ``mine``: submitted by this rater; ``size``: all trajectories."""

    batch_id: int
    mine: int
    size: int


def own_counts(*, rater_id: int) -> list[OwnCount]:
    """What one rater has done in each batch that is open or holds some of theirs; newest first."""
    own = Assignment.objects.filter(batch_id=OuterRef("pk"), rater_id=rater_id, committed_at__isnull=False)
    rows = _counted(Batch.objects.annotate(mine=_count(own)))
    return [OwnCount(b.pk, b.mine, b.size) for b in rows if b.mine or b.done < b.size * b.raters_wanted]


def submitted_since(*, rater_id: int, since: datetime) -> int:
    """How many trajectories a rater has submitted from a moment on."""
    return Trajectory.objects.filter(assignments__rater_id=rater_id, assignments__committed_at__gte=since).count()
