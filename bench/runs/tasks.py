"""Celery's side: five lines a task. The queue only says that there is work; who does it is settled by the claim."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from celery import shared_task
from django.db import InterfaceError, OperationalError
from kombu.exceptions import OperationalError as QueueError
from redis.exceptions import RedisError

from agents.contract import EndpointBusy, Outage, ServiceAway
from bench.database import first_line, is_away, patiently, release_connection
from bench.models import UnitStatus
from bench.runs.claim import fail, finish_if_over, not_sent, postpone, take_for_queue
from bench.runs.execute import act_and_judge, judge
from bench.runs.outages import KnownAway, is_own_failure, note
from bench.runs.worker import WORKER, holding

log = logging.getLogger(__name__)


@shared_task(name="act_unit")  # type: ignore[untyped-decorator]
def act_unit(unit_id: int, run_id: int) -> None:
    _work(unit_id, run_id, act_and_judge)


@shared_task(name="judge_unit")  # type: ignore[untyped-decorator]
def judge_unit(unit_id: int, run_id: int) -> None:
    _work(unit_id, run_id, judge)


def _work(unit_id: int, run_id: int, step: Callable[[int, str], None]) -> None:
    """The worker's edge: whatever happens is logged with the unit, and the unit ends in a defined state.

    What is away fails nothing: the unit goes back, once there is a database to write that down.
    A unit whose run was removed while the message was under way is not there to be claimed.
    """
    try:
        with holding(unit_id):
            _step(unit_id, step)
    finally:
        try:
            patiently(partial(dispatch, run_id))
        finally:
            release_connection()


def _step(unit_id: int, step: Callable[[int, str], None]) -> None:
    try:
        step(unit_id, WORKER)
    except (OperationalError, InterfaceError) as error:
        if not is_away(error):
            _fault(unit_id, error)
            raise
        patiently(partial(wait_for, unit_id, ServiceAway("PostgreSQL", first_line(error))))
    except Outage as outage:
        patiently(partial(wait_for, unit_id, outage))
    except Exception as error:
        _fault(unit_id, error)
        raise


def _fault(unit_id: int, error: Exception) -> None:
    log.exception("unit %s failed by a fault of this program", unit_id)
    text = f"{type(error).__name__}: {error}"
    patiently(partial(fail, unit_id, WORKER, text))


def wait_for(unit_id: int, outage: Outage) -> None:
    """Write down what is away and give the unit back until it may be there again."""
    known = isinstance(outage, KnownAway | EndpointBusy)
    is_open = known or note(outage)
    counts = not known and is_own_failure(outage, is_open=is_open)
    log.warning("unit %s goes back: %s", unit_id, outage)
    postpone(unit_id, WORKER, waits_for=outage.away, reason=str(outage), counts=counts)


def dispatch(run_id: int) -> None:
    """Send waiting units to the queue, within the run's limit, and end the run after its last unit.

    Where the queue does not answer, they are sent once it does; see bench/runs/probes.py.
    """
    waiting = take_for_queue(run_id)
    sent = 0
    try:
        for unit_id, status in waiting:
            (act_unit if status == UnitStatus.QUEUED else judge_unit).delay(unit_id, run_id)
            sent += 1
    except (QueueError, RedisError) as error:
        note(ServiceAway("Redis", f"the queue does not take units: {first_line(error)}"))
        not_sent(unit_id for unit_id, _ in waiting[sent:])
    if not waiting:
        finish_if_over(run_id)
