"""Units change hands by conditional updates; a killed worker loses nothing and buys nothing twice."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from bench.models import ModelCall, Run, RunStatus, Trajectory, Unit, UnitStatus
from bench.redis_server import redis_client
from bench.runs import claim as hands
from bench.runs.launch import launch_run
from bench.runs.spec import RunSpec
from bench.runs.worker import ALIVE_KEY
from tests.annotation.factories import make_run
from tests.bench.live import Worker, canonical, wait_for, wait_until_over

QUEUED, RUNNING, ACTED, JUDGING = UnitStatus.QUEUED, UnitStatus.RUNNING, UnitStatus.ACTED, UnitStatus.JUDGING


@pytest.fixture
def run(db):
    """A run with four fresh units and four that have a trajectory and wait for judges."""
    made = make_run(personas=2)
    Run.objects.filter(pk=made.pk).update(status=RunStatus.RUNNING, max_in_flight=64)
    old = Unit.objects.filter(run=made)
    old.update(status=ACTED, claimed_by="", lease_until=None, enqueued_at=None)
    tasks = list(old.order_by().values_list("task_id", flat=True).distinct())
    Unit.objects.bulk_create(Unit(run=made, task_id=task, method="recency") for task in tasks)
    made.refresh_from_db()
    return made


@pytest.fixture
def fresh(run):
    return Unit.objects.filter(run=run, status=QUEUED).first()


@pytest.fixture
def acted(run):
    return Unit.objects.filter(run=run, status=ACTED).first()


def expire(unit, status, *, attempts=1):
    past = timezone.now() - timedelta(seconds=1)
    Unit.objects.filter(pk=unit.pk).update(status=status, claimed_by="dead", lease_until=past, attempts=attempts)


def status_of(unit):
    unit.refresh_from_db()
    return unit.status


def test_only_the_first_claim_gets_the_unit(fresh):
    assert hands.claim(fresh.pk, RUNNING, "a")
    assert not hands.claim(fresh.pk, RUNNING, "b")
    fresh.refresh_from_db()
    assert (fresh.claimed_by, fresh.attempts) == ("a", 1)


@pytest.mark.django_db(transaction=True)
def test_of_many_threads_that_claim_all_units_each_unit_goes_to_one(run):
    units = list(Unit.objects.filter(run=run, status=QUEUED).values_list("pk", flat=True))

    def take_all(worker):
        try:
            return [unit for unit in units if hands.claim(unit, RUNNING, worker)]
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        taken = [unit for mine in pool.map(take_all, "abcdef") for unit in mine]
    assert sorted(taken) == sorted(units)


@pytest.mark.parametrize("status", [RunStatus.PAUSED, RunStatus.CANCELLED, RunStatus.DONE])
def test_a_run_that_does_not_run_hands_out_nothing(run, fresh, acted, status):
    Run.objects.filter(pk=run.pk).update(status=status)
    assert not hands.claim(fresh.pk, RUNNING, "a")
    assert not hands.claim(acted.pk, JUDGING, "a")
    assert hands.take_for_queue(run.pk) == []


def test_a_unit_that_has_acted_is_never_claimed_for_acting(acted):
    assert not hands.claim(acted.pk, RUNNING, "a")


def test_giving_back_leaves_no_trace_and_only_the_holder_can(fresh):
    hands.claim(fresh.pk, RUNNING, "a")
    hands.give_back(fresh.pk, RUNNING, "b")
    assert status_of(fresh) == RUNNING
    hands.give_back(fresh.pk, RUNNING, "a")
    fresh.refresh_from_db()
    assert (fresh.status, fresh.claimed_by, fresh.attempts, fresh.lease_until) == (QUEUED, "", 0, None)


def test_a_living_worker_keeps_its_units_and_a_dead_one_loses_them(run, fresh, acted):
    hands.claim(fresh.pk, RUNNING, "alive")
    expire(acted, JUDGING)
    assert hands.take_back_expired() == [run.pk]
    assert status_of(fresh) == RUNNING
    assert status_of(acted) == ACTED


def test_a_renewed_lease_is_not_taken_back(fresh):
    hands.claim(fresh.pk, RUNNING, "slow")
    expire(fresh, RUNNING)
    Unit.objects.filter(pk=fresh.pk).update(claimed_by="slow")
    hands.extend_leases([fresh.pk], "slow")
    assert hands.take_back_expired() == []
    assert status_of(fresh) == RUNNING


def test_a_unit_that_kills_its_workers_ends_as_failed_and_says_so(fresh):
    expire(fresh, RUNNING, attempts=hands.MAX_ATTEMPTS)
    hands.take_back_expired()
    assert status_of(fresh) == UnitStatus.FAILED
    assert "6 attempts ended without a result" in fresh.error


def test_a_retried_unit_whose_trajectory_is_there_goes_to_the_judges_and_not_to_the_agent(run, fresh, acted):
    expire(acted, JUDGING, attempts=hands.MAX_ATTEMPTS)
    expire(fresh, RUNNING, attempts=hands.MAX_ATTEMPTS)
    hands.take_back_expired()
    assert status_of(acted) == UnitStatus.FAILED
    assert hands.retry_failed(run.pk) == 2
    assert status_of(acted) == ACTED
    assert status_of(fresh) == QUEUED
    assert acted.attempts == 0


@pytest.mark.parametrize("status", [QUEUED, ACTED])
def test_a_unit_whose_message_got_lost_or_whose_worker_died_before_judging_is_sent_again(run, status):
    unit = Unit.objects.filter(run=run, status=status).first()
    long_ago = timezone.now() - hands.lost_after() - timedelta(seconds=1)
    Unit.objects.filter(pk=unit.pk).update(enqueued_at=long_ago)
    assert hands.take_back_expired() == [run.pk]
    assert (unit.pk, status) in hands.take_for_queue(run.pk)


def test_the_queue_gets_no_more_than_the_run_allows_and_judging_goes_first(run):
    Run.objects.filter(pk=run.pk).update(max_in_flight=3)
    waiting = Unit.objects.filter(run=run, status=ACTED).count()
    sent = hands.take_for_queue(run.pk)
    assert [status for _, status in sent] == [ACTED] * 3
    assert waiting > 3
    assert hands.take_for_queue(run.pk) == []  # all three places are taken


def test_cancelling_ends_what_waits_for_the_agent_and_keeps_what_waits_for_judges(run, fresh, acted):
    hands.cancel_run(run.pk)
    run.refresh_from_db()
    assert run.status == RunStatus.CANCELLED
    assert run.finished_at is not None
    assert status_of(fresh) == UnitStatus.CANCELLED
    assert status_of(acted) == ACTED
    hands.resume_run(run.pk)
    assert status_of(fresh) == QUEUED
    assert fresh.finished_at is None


def test_what_a_dead_worker_held_ends_with_its_cancelled_run(run, fresh):
    expire(fresh, RUNNING)
    hands.cancel_run(run.pk)
    hands.take_back_expired()
    assert status_of(fresh) == UnitStatus.CANCELLED


def test_work_that_is_stopped_while_judging_keeps_waiting_for_its_judges(run, acted):
    hands.claim(acted.pk, JUDGING, "a")
    hands.cancel_run(run.pk)
    hands.stop(acted.pk, JUDGING, "a")
    assert status_of(acted) == ACTED


def test_work_that_is_stopped_after_the_run_was_resumed_goes_back_to_the_queue(run, fresh):
    hands.claim(fresh.pk, RUNNING, "a")
    hands.cancel_run(run.pk)
    hands.resume_run(run.pk)
    hands.stop(fresh.pk, RUNNING, "a")
    assert status_of(fresh) == QUEUED
    assert fresh.enqueued_at is None


def test_a_run_ends_once_and_only_without_open_units(run):
    assert not hands.finish_if_over(run.pk)
    Unit.objects.filter(run=run).update(status=UnitStatus.SCORED)
    assert hands.finish_if_over(run.pk)
    assert not hands.finish_if_over(run.pk)


def test_resuming_a_run_that_is_done_changes_nothing(run):
    Unit.objects.filter(run=run).update(status=UnitStatus.SCORED)
    hands.finish_if_over(run.pk)
    before = Run.objects.values().get(pk=run.pk)
    hands.resume_run(run.pk)
    assert hands.retry_failed(run.pk) == 0
    assert Run.objects.values().get(pk=run.pk) == before


@pytest.mark.django_db(transaction=True)
def test_after_two_kills_every_unit_is_done_once_and_no_call_is_bought_twice(tiny, offline):
    """Each kill -9 comes while several calls wait for the model and all that was answered is in the books.

    Requests that wait at a kill never reach the model, so each request must reach it exactly once in all.
    """
    wish = {"dataset": "tiny", "methods": ["iba", "rag"], "model": "offline", "limit": 2, "max_in_flight": 4}
    offline.hold(after=3)
    run = launch_run(RunSpec(**wish))
    for passing in (4, None):
        worker = Worker(offline.url, lease_s=2)
        try:
            wait_for("the model has answered and calls wait for it", lambda: settled(offline))
            worker.kill()
        finally:
            worker.end()
        held = Unit.objects.filter(run=run, status__in=[RUNNING, JUDGING])
        assert held.count() >= 2  # the dead worker's
        offline.release(drop=True)
        if passing:
            offline.hold(after=passing)
    worker = Worker(offline.url, lease_s=2)
    try:
        wait_until_over(run)
    finally:
        worker.end()

    assert Counter(Unit.objects.filter(run=run).values_list("status", flat=True)) == {"scored": 4}
    assert Trajectory.objects.filter(unit__run=run).count() == 4
    assert not offline.bought_again
    assert offline.bought == Counter(map(canonical, ModelCall.objects.values_list("request", flat=True)))


def settled(offline):
    """Two or more calls wait, none is on its way, and everything that was answered is stored."""
    waits = offline.waiting >= 2 and offline.exchanges and not offline.passing
    return waits and ModelCall.objects.count() == offline.bought.total()


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_is_stopped_is_taken_for_gone_at_once(tiny, offline):
    def is_listed():
        return any(f":{worker.process.pid}:".encode() in name for name in redis_client().zrange(ALIVE_KEY, 0, -1))

    worker = Worker(offline.url)
    try:
        wait_for("the worker says that it lives", is_listed)
        worker.process.terminate()
        worker.process.wait(timeout=60)
        assert not is_listed()
    finally:
        worker.end()
