"""Who grades what next. A place is one (batch, trajectory); it takes ``raters_wanted`` raters and never more.

Locks are always taken in the order rater, place, assignment, trajectory.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import Enum, auto

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from annotation.models import Assignment, Place, SetAside

LEASE = timedelta(minutes=30)
FRESH = timedelta(minutes=1)  # after a lease was taken or extended, a page need not extend it
AT_ONCE = 50  # places that one look finds where all are being taken


class AlreadySubmitted(Exception):
    """The assignment is committed; nothing about it can change."""


def own_open(*, rater_id: int) -> Assignment | None:
    """The assignment that the rater has begun and can still submit, the one with the youngest lease first."""
    begun = Assignment.objects.filter(rater_id=rater_id, committed_at__isnull=True)
    seat_left = Place.objects.filter(
        batch_id=OuterRef("batch_id"), trajectory_id=OuterRef("trajectory_id"), taken__lt=F("wanted")
    )
    free = begun.filter(Q(seated=True) | Exists(seat_left)).exclude(_set_aside())
    return free.order_by("-lease_until").first()


def _set_aside() -> Exists:
    return Exists(SetAside.objects.filter(trajectory_id=OuterRef("trajectory_id")))


def waiting(*, rater_id: int) -> QuerySet[Place]:
    """Places with a seat for this rater, the least graded first.

    A rater grades a trajectory once under a rubric version, in whatever batch.
    """
    seated = Assignment.objects.filter(
        rater_id=rater_id,
        seated=True,
        trajectory_id=OuterRef("trajectory_id"),
        batch__rubric_version=OuterRef("batch__rubric_version"),
    )
    left = Place.objects.filter(taken__lt=F("wanted")).exclude(Exists(seated)).exclude(_set_aside())
    return left.order_by("taken", "batch_id", "pk")


def free_ended(*, now: datetime) -> None:
    """Take back the seats of leases that have ended. Their assignments and drafts stay."""
    ended = Assignment.objects.filter(seated=True, committed_at__isnull=True, lease_until__lte=now)
    for batch_id, trajectory_id in set(ended.values_list("batch_id", "trajectory_id")):
        with transaction.atomic():
            place = Place.objects.select_for_update(no_key=True).get(batch_id=batch_id, trajectory_id=trajectory_id)
            freed = ended.filter(batch_id=batch_id, trajectory_id=trajectory_id).update(seated=False)
            Place.objects.filter(pk=place.pk).update(taken=F("taken") - freed)


def take_next(*, rater_id: int, now: datetime) -> Assignment | None:
    """The rater's own open assignment, else the next place, leased; None where nothing is left for them.

    Places that another rater is taking at this moment are passed over first
    and waited for only where no other is left, one at a time, since raters who hold
    one and wait for another could wait for each other.
    """
    free_ended(now=now)
    left = waiting(rater_id=rater_id)
    taken = _take(rater_id, left.select_for_update(skip_locked=True, no_key=True, of=("self",)), now)
    if taken is not None:
        return taken
    for place_id in list(left.values_list("pk", flat=True)[:AT_ONCE]):
        one = left.filter(pk=place_id).select_for_update(no_key=True, of=("self",))
        taken = _take(rater_id, one, now)
        if taken is not None:
            return taken
    return None


@transaction.atomic
def _take(rater_id: int, places: QuerySet[Place], now: datetime) -> Assignment | None:
    """The rater's own open assignment, else a seat at the first of the places, which are locked as they are read."""
    get_user_model().objects.select_for_update(no_key=True).values_list("pk").get(pk=rater_id)
    mine = own_open(rater_id=rater_id)
    if mine is not None and _extend(mine, now) is _Seat.HELD:
        return mine
    place = places.first()
    return None if place is None else _lease(place, rater_id, now)


def _lease(place: Place, rater_id: int, now: datetime) -> Assignment:
    """The rater's assignment, new or begun before, at a place that is locked and has a seat left."""
    wanted = Assignment(
        batch_id=place.batch_id, trajectory_id=place.trajectory_id, rater_id=rater_id, lease_until=now + LEASE
    )
    (assignment,) = Assignment.objects.bulk_create(
        [wanted],
        update_conflicts=True,
        unique_fields=["batch", "trajectory", "rater"],
        update_fields=["lease_until", "seated"],
    )
    _sit(place)
    return assignment


def _sit(place: Place) -> None:
    Place.objects.filter(pk=place.pk).update(taken=F("taken") + 1)


def hold(*, assignment: Assignment, now: datetime) -> bool:
    """Extends the lease. False where it had run out and others have taken all places since.

    Raises AlreadySubmitted.
    """
    seat = _extend(assignment, now)
    if seat is _Seat.SUBMITTED:
        moment = Assignment.objects.values_list("committed_at", flat=True).get(pk=assignment.pk)
        raise AlreadySubmitted(f"You submitted this trajectory at {moment:%H:%M:%S}.")
    return seat is _Seat.HELD


def just_leased(*, assignment: Assignment, now: datetime) -> bool:
    """As it was read, the rater holds the place and the lease has hardly begun."""
    ends_late = assignment.lease_until > now + LEASE - FRESH
    return assignment.seated and assignment.committed_at is None and ends_late


class _Seat(Enum):
    """What became of an assignment's seat."""

    HELD = auto()
    LOST = auto()
    SUBMITTED = auto()


@transaction.atomic(savepoint=False)
def _extend(assignment: Assignment, now: datetime) -> _Seat:
    """Extends the lease where it can be. It may have been submitted since it was read, such as by a second tab."""
    same = Assignment.objects.filter(pk=assignment.pk)
    if same.filter(committed_at__isnull=True, seated=True).update(lease_until=now + LEASE):
        return _Seat.HELD  # who has a seat need not ask whether one is free
    place = Place.objects.select_for_update(no_key=True).get(
        batch_id=assignment.batch_id, trajectory_id=assignment.trajectory_id
    )
    current = same.select_for_update().get()
    if current.committed_at is not None:
        return _Seat.SUBMITTED
    if current.seated:  # a second request of the same rater was first
        return _Seat.HELD
    if place.taken >= place.wanted:
        return _Seat.LOST
    _sit(place)
    same.update(lease_until=now + LEASE, seated=True)
    return _Seat.HELD


def set_aside(*, trajectory_id: int, reason: str) -> None:
    """Hand the trajectory to nobody until an administrator puts it back; grades that were saved stay."""
    SetAside.objects.get_or_create(trajectory_id=trajectory_id, defaults={"reason": reason[:1000]})


def put_back(*, trajectory_id: int) -> None:
    SetAside.objects.filter(trajectory_id=trajectory_id).delete()
