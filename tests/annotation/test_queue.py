import json
import threading
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.batches import Choice, create_batch
from annotation.models import Assignment, Batch, Place
from annotation.queue import LEASE, AlreadySubmitted, free_ended, hold, own_open, set_aside, take_next, waiting
from bench.models import Trajectory, Unit
from tests.annotation import factories

LATER = LEASE + timedelta(seconds=1)


def test_a_rater_gets_the_own_open_assignment_before_any_other(make_batch, cast, now):
    make_batch(size=3)
    first = take_next(rater_id=cast["ann"].pk, now=now)
    assert take_next(rater_id=cast["ann"].pk, now=now) == first
    assert own_open(rater_id=cast["ann"].pk) == first


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
    batch = make_batch(size=2, raters=1)
    lost = take_next(rater_id=cast["ann"].pk, now=now)
    free_ended(now=now + LATER)
    factories.seat(batch, lost.trajectory, cast["ben"], until=now + LATER + LEASE)
    following = take_next(rater_id=cast["ann"].pk, now=now + LATER)
    assert following.trajectory_id != lost.trajectory_id


def test_nobody_grades_a_trajectory_twice_under_one_rubric(make_batch, cast, now):
    batch = make_batch(size=1, raters=3)
    factories.seat(batch, batch.trajectories.get(), cast["ann"], until=now, committed=now)
    assert take_next(rater_id=cast["ann"].pk, now=now) is None
    assert not waiting(rater_id=cast["ann"].pk).exists()
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
    lost = older.batch.trajectories.exclude(pk=older.trajectory_id).get()
    factories.seat(older.batch, lost, cast["ann"], until=now - timedelta(minutes=1))
    free_ended(now=now)
    factories.seat(older.batch, lost, cast["ben"], until=now + LEASE)
    assert own_open(rater_id=cast["ann"].pk) == older
    assert take_next(rater_id=cast["ann"].pk, now=now) == older


@pytest.mark.django_db(transaction=True)
def test_raters_who_work_at_the_same_time_fill_every_seat_once(now):
    """Five raters, three places with three seats: nine gradings, three different raters at each place."""
    cast = factories.make_cast()
    run = factories.make_run(personas=2, methods=("iba",))
    given = {"choice": Choice.DOMAIN, "domain": "dining", "size": 3, "raters_wanted": 3}
    create_batch(run=run, created_by=cast["ada"], **given)
    names = ("ann", "ben", "cleo", "otto", "ada")
    gate = threading.Barrier(len(names))

    def work(name):
        gate.wait()
        while (taken := take_next(rater_id=cast[name].pk, now=now)) is not None:
            Assignment.objects.filter(pk=taken.pk).update(committed_at=now)
        connection.close()

    threads = [threading.Thread(target=work, args=[name]) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [(place.taken, place.wanted) for place in Place.objects.all()] == [(3, 3)] * 3
    assert Assignment.objects.filter(committed_at=now).count() == Assignment.objects.count() == 9


@pytest.mark.django_db
def test_no_place_can_hold_more_raters_than_wanted_whatever_writes_it(make_batch, cast, now):
    batch = make_batch(size=1, raters=1)
    take_next(rater_id=cast["ann"].pk, now=now)
    with pytest.raises(IntegrityError, match="place_never_overfull"):
        factories.seat(batch, batch.trajectories.get(), cast["ben"], until=now)


RATERS = ("ann", "ben", "cleo")
STEPS = st.lists(
    st.tuples(st.sampled_from(["take", "take", "submit", "save", "wait", "set aside"]), st.sampled_from(RATERS)),
    max_size=25,
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_seats_are_counted_right_through_any_course_of_leases_and_submits(once, steps):
    """After each step ``taken`` is what the assignments say, and nobody is sent away from a free seat."""
    cast, batch, now = once
    with transaction.atomic():
        for what, name in steps:
            rater, now = cast[name].pk, now + timedelta(minutes=1)
            mine = own_open(rater_id=rater)
            if what == "wait":
                now += LEASE
            elif what == "take":
                taken = take_next(rater_id=rater, now=now)
                assert taken is not None or not _seats_for(batch, rater, now)
            elif what == "set aside":
                set_aside(trajectory_id=batch.trajectories.first().pk, reason="torn")
            elif mine is not None and hold(assignment=mine, now=now) and what == "submit":
                Assignment.objects.filter(pk=mine.pk).update(committed_at=now)
            for place in Place.objects.all():
                seated = Assignment.objects.filter(batch_id=place.batch_id, trajectory_id=place.trajectory_id)
                assert place.taken == seated.filter(seated=True).count() <= place.wanted
        transaction.set_rollback(True)


def _seats_for(batch, rater_id, now):
    """Trajectories with a seat for the rater, counted from the assignments alone."""
    found = []
    for trajectory in batch.trajectories.filter(set_aside__isnull=True):
        rows = list(trajectory.assignments.all())
        held = [row for row in rows if row.committed_at or row.lease_until > now]
        if len(held) < batch.raters_wanted and rater_id not in {row.rater_id for row in rows if row.committed_at}:
            found.append(trajectory.pk)
    return found


@pytest.fixture
def once(make_batch, cast, now):
    return cast, make_batch(size=2, raters=2), now


def test_the_next_place_is_found_by_an_index_among_thousands_in_many_batches(make_batch, cast, now):
    """The plan's rows, not its time: what has been graded and what waits behind the next place is not looked at."""
    first = make_batch(size=1)
    run, template = first.run, Trajectory.objects.first()
    units = Unit.objects.bulk_create(
        Unit(run=run, task=template.unit.task, method=f"m{n}", status="scored") for n in range(1000)
    )
    rows = Trajectory.objects.bulk_create(Trajectory(unit=unit, termination="completed", data={}) for unit in units)
    Place.objects.all().delete()
    for at in range(0, 1000, 250):
        batch = Batch.objects.create(run=run, name=f"b{at}", rubric_version=first.rubric_version)
        filled = 2 if at < 500 else 0
        Place.objects.bulk_create(
            Place(batch=batch, trajectory=row, wanted=2, taken=filled) for row in rows[at : at + 250]
        )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE annotation_batch_trajectories, annotation_assignment, annotation_batch")
    plan = json.loads(waiting(rater_id=cast["ann"].pk)[:1].explain(format="json", analyze=True))[0]["Plan"]
    nodes = list(_nodes(plan))
    assert "place_open" in {node.get("Index Name") for node in nodes}
    assert max(node["Actual Rows"] * node["Actual Loops"] for node in nodes) <= 4  # one a batch at most


def _nodes(plan):
    yield plan
    for part in plan.get("Plans", []):
        yield from _nodes(part)


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
