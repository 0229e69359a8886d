"""Limits of an endpoint: in one process, or shared by all workers through Redis."""

from __future__ import annotations

import logging
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import Protocol

from redis import Redis
from redis.exceptions import RedisError

from agents.contract import Cancelled, EndpointBusy, ServiceAway
from agents.model.endpoints import Endpoint

log = logging.getLogger(__name__)

LEASE_MARGIN_S = 30.0  # a lease outlives the request's timeout by this
LONGEST_POLL_S = 1.0
_jitter = random.SystemRandom()

Stop = Callable[[], bool]


def never() -> bool:
    return False


class Limiter(Protocol):
    def slot(
        self, endpoint: Endpoint, tokens_estimate: int, *, wait_s: float, should_stop: Stop = never
    ) -> AbstractContextManager[None]:
        """Holds one slot of the endpoint. Waits at most ``wait_s``, then raises EndpointBusy.

        Raises Cancelled as soon as ``should_stop`` says so.
        """


class LocalLimiter:
    """Requests in flight, within this process. Knows no rates a minute."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._slots: dict[tuple[str, int], threading.BoundedSemaphore] = {}

    @contextmanager
    def slot(
        self, endpoint: Endpoint, tokens_estimate: int, *, wait_s: float, should_stop: Stop = never
    ) -> Iterator[None]:
        with self._lock:
            key = (endpoint.slug, endpoint.max_in_flight)
            slots = self._slots.setdefault(key, threading.BoundedSemaphore(endpoint.max_in_flight))
        ends = time.monotonic() + wait_s
        while not slots.acquire(blocking=False):
            _check_wait(endpoint, should_stop, wait_s, time.monotonic() >= ends)
            if slots.acquire(timeout=max(0.0, min(LONGEST_POLL_S, ends - time.monotonic()))):
                break
        try:
            yield
        finally:
            slots.release()


class RedisLimiter:
    """The limits of an endpoint, shared by every worker on one Redis.

    A slot is a lease that expires, so the slots of a killed worker come back
    after ``timeout_s`` plus ``lease_margin_s``. Requests and tokens a minute are
    buckets that refill evenly; a bucket holds one minute's worth.
    """

    def __init__(
        self,
        redis: Redis,
        *,
        prefix: str = "iba:limiter",
        lease_margin_s: float = LEASE_MARGIN_S,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._redis = redis
        self._prefix = prefix
        self._lease_margin_s = lease_margin_s
        self._sleep = sleep
        self._take = redis.register_script(_script())
        # Threads that can't get a slot here anyway wait without polling Redis.
        self._local = LocalLimiter()

    @contextmanager
    def slot(
        self, endpoint: Endpoint, tokens_estimate: int, *, wait_s: float, should_stop: Stop = never
    ) -> Iterator[None]:
        ends = time.monotonic() + wait_s
        with self._local.slot(endpoint, tokens_estimate, wait_s=wait_s, should_stop=should_stop):
            lease = uuid.uuid4().hex
            pause = 0.0
            while (hint := self._try_take(endpoint, tokens_estimate, lease)) > 0:
                pause = min(LONGEST_POLL_S, max(hint, pause * 1.5)) * _jitter.uniform(0.75, 1.25)
                _check_wait(endpoint, should_stop, wait_s, time.monotonic() + max(hint, pause) > ends)
                self._sleep(pause)
            try:
                yield
            finally:
                self._give_back(endpoint, lease)

    def _key(self, endpoint: Endpoint, part: str) -> str:
        return f"{self._prefix}:{{{endpoint.slug}}}:{part}"

    def _try_take(self, endpoint: Endpoint, tokens: int, lease: str) -> float:
        """0 where the slot was taken, else the seconds to wait before the next try."""
        keys = [self._key(endpoint, "leases"), self._key(endpoint, "buckets")]
        lease_ms = int((endpoint.timeout_s + self._lease_margin_s) * 1000)
        limits = [endpoint.max_in_flight, endpoint.requests_per_minute, endpoint.tokens_per_minute]
        try:
            return int(self._take(keys=keys, args=[lease, lease_ms, *limits, tokens])) / 1000
        except RedisError as error:
            raise ServiceAway(
                "Redis",
                f"limits of endpoint {endpoint.slug!r} can't be read: Redis says {error}. Start it or set REDIS_URL.",
            ) from error

    def _give_back(self, endpoint: Endpoint, lease: str) -> None:
        try:
            self._redis.zrem(self._key(endpoint, "leases"), lease)
        except RedisError as error:
            log.warning("slot of %s not given back, it expires by itself: %s", endpoint.slug, error)


@cache
def _script() -> str:
    return (Path(__file__).parent / "limits.lua").read_text()


def _check_wait(endpoint: Endpoint, should_stop: Stop, wait_s: float, is_over: bool) -> None:
    if should_stop():
        raise Cancelled(f"cancelled while waiting for endpoint {endpoint.slug!r}")
    if is_over:
        raise EndpointBusy(
            endpoint.name,
            f"endpoint {endpoint.slug!r} had no free slot within {wait_s:.0f} s. Raise max_in_flight "
            f"({endpoint.max_in_flight}) or its rates a minute, or run fewer trajectories at once.",
        )
