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

from celery.signals import worker_ready, worker_shutdown
from django.conf import settings
from django.db import DatabaseError, InterfaceError
from redis.exceptions import RedisError

from agents.contract import ServiceAway
from bench.database import first_line, release_connection
from bench.redis_server import redis_client
from bench.runs.calls import OneBuyer
from bench.runs.claim import extend_leases, send_again, take_back_expired
from bench.runs.outages import note
from bench.runs.probes import probe_for_ever

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
def look_for_garbage_less_often(**_: object) -> None:
    """Prompts and trajectories make many objects and few cycles; what was imported is not looked at again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@worker_ready.connect  # type: ignore[untyped-decorator]
def start_heartbeat(**_: object) -> None:
    threading.Thread(target=_beat_for_ever, name="heartbeat", daemon=True).start()
    threading.Thread(target=probe_for_ever, name="probes", daemon=True).start()


@worker_shutdown.connect  # type: ignore[untyped-decorator]
def say_goodbye(**_: object) -> None:
    """Who waits for a worker need not wait until its last heartbeat is old."""
    with suppress(RedisError):
        redis_client().zrem(ALIVE_KEY, WORKER)


def _beat_for_ever() -> None:
    pause = min(5.0, settings.LEASE_S / 4)
    heart = Heart()
    while True:
        try:
            heart.beat()
        except (DatabaseError, InterfaceError) as error:
            log.warning("heartbeat failed, tried again in %.1f s: %s", pause, first_line(error))
        except Exception:
            log.exception("a heartbeat broke by a fault of this program")
        finally:
            release_connection()
        time.sleep(pause)


class Heart:
    """What a worker tells and asks from time to time."""

    def __init__(self) -> None:
        self._memory = ""  # which memory of Redis it was last time
        self._was_well = True

    def beat(self) -> None:
        """I am here; my units are mine; the units of the dead go back to the queue."""
        from bench.runs.tasks import dispatch

        was_well, self._was_well = self._was_well, False
        runs = self._tell_redis()
        with _held_lock:
            mine = list(_held)
        if mine:
            extend_leases(mine, WORKER)
        if was_well:  # else leases ran out because nobody could renew them: the others come first
            runs += take_back_expired()
        self._was_well = True
        for run_id in dict.fromkeys(runs):
            dispatch(run_id)

    def _tell_redis(self) -> list[int]:
        """Runs whose messages are gone, because Redis started anew and remembers nothing."""
        redis = redis_client()
        try:
            redis.zadd(ALIVE_KEY, {WORKER: time.time()})
            OneBuyer.renew()
            memory = str(redis.info("server")["run_id"])
            before, self._memory = self._memory, memory
            if before in ("", memory):
                return []
            first = redis.set(f"iba:sent-again:{memory}", WORKER, nx=True, ex=3600)
        except RedisError as error:
            note(ServiceAway("Redis", first_line(error)))
            return []
        return send_again() if first else []


def workers_alive() -> int:
    """Workers whose heartbeat is younger than 15 s. Raises RedisError where the queue does not answer."""
    redis = redis_client()
    now = time.time()
    redis.zremrangebyscore(ALIVE_KEY, 0, now - 3600)
    return int(redis.zcount(ALIVE_KEY, now - ALIVE_FOR_S, "+inf"))
