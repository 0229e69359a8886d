"""Who grades what next. A place is one (batch, trajectory); it takes ``raters_wanted`` raters and never more.

Locks are always taken in the order rater, place, assignment, trajectory.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Count, Exists, F, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation.batches import Place
from annotation.models import Assignment, Batch, SetAside

LEASE = timedelta(minutes=30)
AT_ONCE = 50  # places that one look finds


class AlreadySubmitted(Exception):
    """The assignment is committed; nothing about it can change."""


def own_open(*, rater_id: int, now: datetime) -> Assignment | None:
    """The assignment that the rater has begun and can still submit, the one with the youngest lease first."""
    same = Assignment.objects.filter(trajectory_id=OuterRef("trajectory_id"))
    begun = Assignment.objects.filter(rater_id=rater_id, committed_at__isnull=True, trajectory__set_aside__isnull=True)
    mine = begun.annotate(held=_held_by_others(same, rater_id, now))
    free = mine.filter(Q(lease_until__gt=now) | Q(held__lt=F("batch__raters_wanted")))
    return free.order_by("-lease_until").first()


def _held_by_others(same: QuerySet[Assignment], rater_id: int, now: datetime) -> Coalesce:
    """How many places of the outer row's batch and trajectory other raters hold."""
    others = same.filter(_holding(now), batch_id=OuterRef("batch_id")).exclude(rater_id=rater_id).order_by()
    held = others.values("trajectory_id").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(held, output_field=IntegerField()), 0)


def waiting(*, rater_id: int, now: datetime) -> QuerySet[Any]:
    """Places (rows of ``Place``) that this rater may take, the least graded first.

    A rater grades a trajectory once under a rubric version, in whatever batch.
    An own assignment that was begun does not stand in its owner's way.
    """
    same = Assignment.objects.filter(trajectory_id=OuterRef("trajectory_id")).order_by()
    done = same.filter(
        rater_id=rater_id,
        committed_at__isnull=False,
        batch__rubric_version=OuterRef("batch__rubric_version"),
    )
    counted: QuerySet[Any] = Place.objects.annotate(held=_held_by_others(same, rater_id, now))
    left = counted.filter(~Exists(done), held__lt=F("batch__raters_wanted"), trajectory__set_aside__isnull=True)
    return left.order_by("held", "batch_id", "pk")


def take_next(*, rater_id: int, now: datetime) -> Assignment | None:
    """The rater's own open assignment, else the next place, leased; None where nothing is left for them.

    Places that another rater is taking at this moment are passed over first
    and waited for only where no other is left, one at a time, since raters who hold
    one and wait for another could wait for each other.
    """
    left = waiting(rater_id=rater_id, now=now).values_list("pk", flat=True)[:AT_ONCE]
    taken = _try(rater_id, left, now, skip_locked=True)
    if taken is not None:
        return taken
    for place_id in list(left.all()):
        taken = _try(rater_id, [place_id], now, skip_locked=False)
        if taken is not None:
            return taken
    return None


@transaction.atomic
def _try(rater_id: int, place_ids: Iterable[int], now: datetime, *, skip_locked: bool) -> Assignment | None:
    """The rater's own open assignment, else the first of the places that is free, in one transaction."""
    get_user_model().objects.select_for_update(no_key=True).values_list("pk").get(pk=rater_id)
    mine = own_open(rater_id=rater_id, now=now)
    if mine is not None and _extend(mine, now) is _Place.HELD:
        return mine
    locked = Place.objects.select_for_update(skip_locked=skip_locked, no_key=True).values_list(
        "batch_id", "trajectory_id"
    )
    for place_id in place_ids:
        place = locked.filter(pk=place_id).first()
        if place is not None and _is_free(*place, rater_id, now) and not _has_graded(*place, rater_id):
            return _lease(*place, rater_id, now)
    return None


def _lease(batch_id: int, trajectory_id: int, rater_id: int, now: datetime) -> Assignment:
    """The rater's assignment, new or begun before."""
    wanted = Assignment(batch_id=batch_id, trajectory_id=trajectory_id, rater_id=rater_id, lease_until=now + LEASE)
    (assignment,) = Assignment.objects.bulk_create(
        [wanted],
        update_conflicts=True,
        unique_fields=["batch", "trajectory", "rater"],
        update_fields=["lease_until"],
    )
    return assignment


def hold(*, assignment: Assignment, now: datetime) -> bool:
    """Extends the lease. False where it had run out and others have taken all places since.

    Raises AlreadySubmitted.
    """
    place = _extend(assignment, now)
    if place is _Place.SUBMITTED:
        moment = Assignment.objects.values_list("committed_at", flat=True).get(pk=assignment.pk)
        raise AlreadySubmitted(f"You submitted this trajectory at {moment:%H:%M:%S}.")
    return place is _Place.HELD


class _Place(Enum):
    """What became of an assignment's place."""

    HELD = auto()
    LOST = auto()
    SUBMITTED = auto()


@transaction.atomic(savepoint=False)
def _extend(assignment: Assignment, now: datetime) -> _Place:
    """Extends the lease where it can be. It may have been submitted since it was read, such as by a second tab."""
    same = Assignment.objects.filter(pk=assignment.pk)
    if same.filter(committed_at__isnull=True, lease_until__gt=now).update(lease_until=now + LEASE):
        return _Place.HELD  # who holds a place need not ask whether it is free
    place = Place.objects.filter(batch_id=assignment.batch_id, trajectory_id=assignment.trajectory_id)
    place.select_for_update(no_key=True).get()
    current = same.select_for_update().get()
    if current.committed_at is not None:
        return _Place.SUBMITTED
    if not _is_free(current.batch_id, current.trajectory_id, current.rater_id, now):
        return _Place.LOST
    same.update(lease_until=now + LEASE)
    return _Place.HELD


def _holding(now: datetime) -> Q:
    return Q(committed_at__isnull=False) | Q(lease_until__gt=now)


def _is_free(batch_id: int, trajectory_id: int, rater_id: int, now: datetime) -> bool:
    """To be asked under the place's lock only."""
    others = Assignment.objects.filter(_holding(now), batch_id=batch_id, trajectory_id=trajectory_id)
    return others.exclude(rater_id=rater_id).count() < Batch.objects.get(pk=batch_id).raters_wanted


def _has_graded(batch_id: int, trajectory_id: int, rater_id: int) -> bool:
    """Whether the rater has submitted the trajectory since the places were looked for."""
    rubric = Batch.objects.values("rubric_version").get(pk=batch_id)["rubric_version"]
    same = Assignment.objects.filter(trajectory_id=trajectory_id, rater_id=rater_id, committed_at__isnull=False)
    return same.filter(batch__rubric_version=rubric).exists()


def set_aside(*, trajectory_id: int, reason: str) -> None:
    """Hand the trajectory to nobody until an administrator puts it back; grades that were saved stay."""
    SetAside.objects.get_or_create(trajectory_id=trajectory_id, defaults={"reason": reason[:1000]})


def put_back(*, trajectory_id: int) -> None:
    SetAside.objects.filter(trajectory_id=trajectory_id).delete()
