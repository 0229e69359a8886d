"""Celery's side: five lines a task. The queue only says that there is work; who does it is settled by the claim."""

from __future__ import annotations

import logging
from collections.abc import Callable

from celery import shared_task
from django.db import InterfaceError, OperationalError
from kombu.exceptions import OperationalError as QueueError

from bench.database import release_connection
from bench.models import UnitStatus
from bench.runs.calls import BooksUnavailable
from bench.runs.claim import fail, finish_if_over, lost_after, take_for_queue
from bench.runs.execute import act_and_judge, judge
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

    A unit whose run was removed while the message was under way is not there to be claimed.
    """
    try:
        with holding(unit_id):
            step(unit_id, WORKER)
        dispatch(run_id)
    except (OperationalError, InterfaceError, BooksUnavailable):
        log.exception("unit %s: the database did not answer; the unit comes back when its lease ends", unit_id)
        raise
    except Exception as error:
        log.exception("unit %s failed by a fault of this program", unit_id)
        fail(unit_id, WORKER, f"{type(error).__name__}: {error}")
        dispatch(run_id)
        raise
    finally:
        release_connection()


def dispatch(run_id: int) -> None:
    """Send waiting units to the queue, within the run's limit, and end the run after its last unit.

    Where the queue does not answer, the units are taken for lost and sent again by a worker's heartbeat.
    """
    waiting = take_for_queue(run_id)
    try:
        for unit_id, status in waiting:
            (act_unit if status == UnitStatus.QUEUED else judge_unit).delay(unit_id, run_id)
    except QueueError as error:
        log.error("the queue does not take units; tried again after %s: %s", lost_after(), error)
    if not waiting:
        finish_if_over(run_id)
