"""What a worker process does beside its tasks: show that it lives, keep its leases, free those of the dead."""

from __future__ import annotations

import gc
import logging
import os
import socket
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from celery.signals import worker_ready, worker_shutdown
from django.conf import settings
from django.db import DatabaseError
from redis.exceptions import RedisError

from bench.database import release_connection
from bench.runs.calls import OneBuyer, redis_client
from bench.runs.claim import extend_leases, take_back_expired

log = logging.getLogger(__name__)

WORKER = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
ALIVE_KEY = "iba:workers"
ALIVE_FOR_S = 15

_held: Counter[int] = Counter()  # how many threads hold the unit: a message may come twice
_held_lock = threading.Lock()


@contextmanager
def holding(unit_id: int) -> Iterator[None]:
    """While a thread works on the unit, the heartbeat renews its lease."""
    with _held_lock:
        _held[unit_id] += 1
    try:
        yield
    finally:
        with _held_lock:
            _held[unit_id] -= 1
            if not _held[unit_id]:
                del _held[unit_id]


@worker_ready.connect  # type: ignore[untyped-decorator]
def look_for_garbage_less_often(**_: Any) -> None:
    """Prompts and trajectories make many objects and few cycles; what was imported is not looked at again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@worker_ready.connect  # type: ignore[untyped-decorator]
def start_heartbeat(**_: Any) -> None:
    threading.Thread(target=_beat_for_ever, name="heartbeat", daemon=True).start()


@worker_shutdown.connect  # type: ignore[untyped-decorator]
def say_goodbye(**_: Any) -> None:
    """Who waits for a worker need not wait until its last heartbeat is old."""
    with suppress(RedisError):
        redis_client().zrem(ALIVE_KEY, WORKER)


def _beat_for_ever() -> None:
    pause = min(5.0, settings.LEASE_S / 4)
    while True:
        try:
            beat()
        except (DatabaseError, RedisError) as error:
            log.warning("heartbeat failed, tried again in %.1f s: %s", pause, error)
        finally:
            release_connection()
        time.sleep(pause)


def beat() -> None:
    """One heartbeat: I am here; my units are mine; the units of the dead go back to the queue."""
    from bench.runs.tasks import dispatch

    redis_client().zadd(ALIVE_KEY, {WORKER: time.time()})
    OneBuyer.renew()
    with _held_lock:
        mine = list(_held)
    if mine:
        extend_leases(mine, WORKER)
    for run_id in take_back_expired():
        dispatch(run_id)


def workers_alive() -> int:
    """Workers whose heartbeat is younger than 15 s. Raises RedisError where the queue does not answer."""
    redis = redis_client()
    now = time.time()
    redis.zremrangebyscore(ALIVE_KEY, 0, now - 3600)
    return int(redis.zcount(ALIVE_KEY, now - ALIVE_FOR_S, "+inf"))
