import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction

from annotation.batches import Choice, create_batch
from annotation.models import Assignment
from annotation.queue import LEASE, AlreadySubmitted, hold, own_open, take_next, waiting
from tests.annotation import factories

LATER = LEASE + timedelta(seconds=1)


def test_a_rater_gets_the_own_open_assignment_before_any_other(make_batch, cast, now):
    make_batch(size=3)
    first = take_next(rater_id=cast["ann"].pk, now=now)
    assert take_next(rater_id=cast["ann"].pk, now=now) == first
    assert own_open(rater_id=cast["ann"].pk, now=now) == first


def test_the_least_graded_trajectory_comes_next(make_batch, cast, now):
    make_batch(size=2)
    taken = [take_next(rater_id=cast[name].pk, now=now).trajectory_id for name in ("ann", "ben")]
    assert len(set(taken)) == 2


def test_no_more_raters_than_wanted_hold_a_trajectory(make_batch, cast, now):
    make_batch(size=1, raters=2)
    taken = [take_next(rater_id=cast[name].pk, now=now) for name in ("ann", "ben", "cleo")]
    assert [bool(one) for one in taken] == [True, True, False]


def test_an_expired_lease_frees_the_place_and_keeps_the_assignment(make_batch, cast, now):
    make_batch(size=1, raters=1)
    mine = take_next(rater_id=cast["ann"].pk, now=now)
    assert take_next(rater_id=cast["ben"].pk, now=now) is None
    assert take_next(rater_id=cast["ben"].pk, now=now + LATER) is not None
    assert hold(assignment=mine, now=now + LATER) is False
    assert Assignment.objects.filter(pk=mine.pk).exists()


def test_an_expired_lease_is_renewed_while_nobody_took_the_place(make_batch, cast, now):
    make_batch(size=1, raters=1)
    mine = take_next(rater_id=cast["ann"].pk, now=now)
    assert hold(assignment=mine, now=now + LATER) is True
    assert take_next(rater_id=cast["ben"].pk, now=now + LATER) is None


def test_a_rater_whose_place_was_taken_goes_on_with_another_trajectory(make_batch, cast, now):
    make_batch(size=2, raters=1)
    lost = take_next(rater_id=cast["ann"].pk, now=now)
    for name in ("ben", "cleo"):
        take_next(rater_id=cast[name].pk, now=now + LATER)
    Assignment.objects.exclude(pk=lost.pk).exclude(trajectory_id=lost.trajectory_id).delete()
    following = take_next(rater_id=cast["ann"].pk, now=now + LATER)
    assert following.trajectory_id != lost.trajectory_id


def test_nobody_grades_a_trajectory_twice_under_one_rubric(make_batch, cast, now):
    batch = make_batch(size=1, raters=3)
    Assignment.objects.create(
        batch=batch, trajectory=batch.trajectories.get(), rater=cast["ann"], lease_until=now, committed_at=now
    )
    assert take_next(rater_id=cast["ann"].pk, now=now) is None
    assert not waiting(rater_id=cast["ann"].pk, now=now).exists()
    assert take_next(rater_id=cast["ben"].pk, now=now) is not None


def test_a_committed_assignment_is_held_no_longer(make_batch, cast, now):
    make_batch()
    mine = take_next(rater_id=cast["ann"].pk, now=now)
    Assignment.objects.update(committed_at=now)
    with pytest.raises(AlreadySubmitted, match="submitted this trajectory at 09:00:00"):
        hold(assignment=mine, now=now)


@pytest.mark.django_db(transaction=True)
def test_raters_who_ask_at_the_same_moment_never_exceed_the_places(now):
    """Four raters, one trajectory, two places: two get it, two get nothing."""
    cast = factories.make_cast()
    run = factories.make_run(personas=1, methods=("iba",))
    given = {"choice": Choice.DOMAIN, "domain": "dining", "size": 1, "raters_wanted": 2}
    create_batch(run=run, created_by=cast["ada"], **given)
    gate = threading.Barrier(4)
    taken = []

    def ask(name):
        gate.wait()
        taken.append(take_next(rater_id=cast[name].pk, now=now))
        connection.close()

    threads = [threading.Thread(target=ask, args=[name]) for name in ("ann", "ben", "cleo", "otto")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one is not None for one in taken) == [False, False, True, True]
    assert Assignment.objects.count() == 2


def test_a_lost_place_is_no_open_assignment_and_an_older_one_that_can_be_submitted_is(make_batch, cast, now):
    make_batch(size=2, raters=1)
    older = take_next(rater_id=cast["ann"].pk, now=now)
    Assignment.objects.filter(pk=older.pk).update(lease_until=now - LEASE)
    place = Assignment.objects.none()
    for other in older.batch.trajectories.exclude(pk=older.trajectory_id):
        place = Assignment.objects.create(
            batch=older.batch, trajectory=other, rater=cast["ann"], lease_until=now - timedelta(minutes=1)
        )
    Assignment.objects.create(
        batch=older.batch, trajectory=place.trajectory, rater=cast["ben"], lease_until=now + LEASE
    )
    assert own_open(rater_id=cast["ann"].pk, now=now) == older
    assert take_next(rater_id=cast["ann"].pk, now=now) == older


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("size", [1, 2])
def test_a_rater_whose_open_item_is_submitted_meanwhile_by_another_tab_gets_the_next_or_nothing(now, size):
    """A tab asks for the next item while another submits the one that is open: it finds that done, and no fault."""
    cast = factories.make_cast()
    run = factories.make_run(personas=1, methods=("iba",))
    given = {"choice": Choice.DOMAIN, "domain": "dining", "size": size, "raters_wanted": 2}
    create_batch(run=run, created_by=cast["ada"], **given)
    mine = take_next(rater_id=cast["ann"].pk, now=now)
    taken = []

    def ask():
        taken.append(take_next(rater_id=cast["ann"].pk, now=now))
        connection.close()

    asking = threading.Thread(target=ask)
    with transaction.atomic():
        Assignment.objects.filter(pk=mine.pk).update(committed_at=now)
        asking.start()
        while asking.is_alive() and not locks_waited_for():
            pass
    asking.join()
    assert [one.trajectory_id != mine.trajectory_id for one in taken if one] == [True] * (size - 1)
    assert len(taken) == 1


def locks_waited_for() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return cursor.fetchone()[0]
