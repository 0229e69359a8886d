"""What was bought from models, kept in the database; and the bill of a run."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import lru_cache

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone
from redis.exceptions import RedisError

from agents.contract import JSON, BudgetExceeded, Cancelled, LLMError, ServiceAway, Usage
from agents.model.endpoints import StoredCall, counted_tokens
from agents.model.limits import RedisLimiter
from bench.database import is_away, patiently, release_connection
from bench.models import Run, RunStatus
from bench.redis_server import redis_client
from bench.runs.outages import answered


class BooksUnavailable(LLMError):
    """The database refuses an entry about a call. Nobody's verdict, and never the agent's fault."""


@contextmanager
def _books() -> Iterator[None]:
    """Reads or writes within a model call: short, and a fault of the database is not one of the agent's code."""
    try:
        yield
    except (DatabaseError, InterfaceError) as error:
        text = f"the database does not keep the books of model calls: {error}"
        raise (ServiceAway("PostgreSQL", text) if is_away(error) else BooksUnavailable(text)) from error
    finally:
        release_connection()


_FIND = """
    SELECT run.id, run.spent_usd, run.budget_usd,
           call.key, call.response, call.tokens_in, call.tokens_out, call.cost_usd, call.latency_s, call.stage
    FROM (VALUES (%s::bigint)) AS asked (run_id)
    LEFT JOIN bench_run AS run ON run.id = asked.run_id
    LEFT JOIN bench_modelcall AS call ON call.key = ANY(%s)
"""
_PUT = """
    WITH bought AS (
        INSERT INTO bench_modelcall (key, endpoint, model, stage, unit_id, request, response,
                                     tokens_in, tokens_out, cost_usd, latency_s, created_at)
        VALUES (%(key)s, %(endpoint)s, %(model)s, %(stage)s, %(unit_id)s, %(request)s, %(response)s,
                %(tokens_in)s, %(tokens_out)s, %(cost_usd)s, %(latency_s)s, %(created_at)s)
        ON CONFLICT (key) DO NOTHING
    )
    UPDATE bench_run SET spent_usd = spent_usd + %(cost_usd)s WHERE id = %(run_id)s AND %(cost_usd)s > 0
"""


class DatabaseStore:
    """``agents.model.endpoints.CallStore`` for one unit of a run, or for work outside any run, which has no budget.

    Every model call passes here twice, so each time is one statement. ``put`` writes the call and adds its price
    to the run's bill, so that a kill between the two is impossible. One row a key, whoever buys first.
    """

    def __init__(self, *, run_id: int | None, unit_id: int | None, endpoint: str, name: str = "") -> None:
        self._run_id = run_id
        self._unit_id = unit_id
        self._endpoint = endpoint
        self._name = name or endpoint  # as breakers know it

    def find(self, keys: Sequence[str]) -> dict[str, StoredCall]:
        with _books(), connection.cursor() as cursor:
            cursor.execute(_FIND, [self._run_id, list(keys)])
            rows = cursor.fetchall()
        run_id, spent, budget = rows[0][:3]
        found = {
            key: _stored(json.loads(response), tokens_in, tokens_out, cost_usd, latency_s, stage)
            for _, _, _, key, response, tokens_in, tokens_out, cost_usd, latency_s, stage in rows
            if key is not None
        }
        if not found and run_id != self._run_id:
            raise Cancelled(f"run {self._run_id} was removed")
        if not found and budget is not None and spent >= budget:
            raise BudgetExceeded(f"run {self._run_id} has spent {spent:.2f} of {budget:.2f} USD")
        return found

    def put(self, key: str, request: JSON, call: StoredCall) -> None:
        values: Row = {
            "key": key,
            "endpoint": self._endpoint,
            "model": request.get("model", ""),
            "stage": call.stage,
            "unit_id": self._unit_id,
            "request": json.dumps(request, ensure_ascii=False),
            "response": json.dumps(call.response, ensure_ascii=False),
            "tokens_in": call.usage.tokens_in,
            "tokens_out": call.usage.tokens_out,
            "cost_usd": call.usage.cost_usd,
            "latency_s": call.latency_s,
            "created_at": timezone.now(),
            "run_id": self._run_id,
        }
        waited: list[str] = []
        with _books():
            # What was answered has cost money: it is held here until it can be written.
            patiently(lambda: self._write(values), said=waited.append)
            answered(self._name)
        if waited:  # the time of an outage is not the agent's, so the unit starts anew and replays
            raise ServiceAway("PostgreSQL", waited[0])

    def _write(self, values: Row) -> None:
        with connection.cursor() as cursor:
            cursor.execute(_PUT, values)


def _stored(
    response: JSON, tokens_in: int, tokens_out: int, cost_usd: float, latency_s: float, stage: str
) -> StoredCall:
    estimated = int(counted_tokens(response) is None)
    return StoredCall(response, Usage(1, tokens_in, tokens_out, cost_usd, estimated), latency_s, stage)


Row = dict[str, str | int | float | datetime | None]


@lru_cache(maxsize=1)
def limiter() -> RedisLimiter:
    return RedisLimiter(redis_client())


class OneBuyer:
    """Of all threads and workers that want to buy the same call, one does; the others find it in the store.

    The right to buy is a lease like a unit's: it ends ``LEASE_S`` after its holder's last heartbeat.
    """

    POLL_S = 0.1
    _RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) end"
    _lock = threading.Lock()
    _held: set[str] = set()

    @contextmanager
    def __call__(self, key: str, check: Callable[[], None]) -> Iterator[None]:
        """Waits for its turn. ``check`` is called meanwhile and may raise. Raises ServiceAway without Redis."""
        name, token, redis = f"iba:buying:{key}", uuid.uuid4().hex, redis_client()
        try:
            while not redis.set(name, token, nx=True, ex=settings.LEASE_S):
                check()
                time.sleep(self.POLL_S)
        except RedisError as error:
            text = f"Redis does not say who buys a call: {error}. Start it, or set REDIS_URL."
            raise ServiceAway("Redis", text) from error
        with self._lock:
            self._held.add(name)
        try:
            yield
        finally:
            with self._lock:
                self._held.discard(name)
            with suppress(RedisError):  # ends by itself
                redis.eval(self._RELEASE, 1, name, token)

    @classmethod
    def renew(cls) -> None:
        """The heartbeat's part. Raises RedisError."""
        with cls._lock:
            held = tuple(cls._held)
        for name in held:
            redis_client().expire(name, settings.LEASE_S)


class StopSign:
    """Whether a run was cancelled, asked of the database at most once a second a process."""

    _lock = threading.Lock()
    _seen: dict[int, tuple[float, bool]] = {}

    def __init__(self, run_id: int) -> None:
        self._run_id = run_id

    def __call__(self) -> bool:
        now = time.monotonic()
        with self._lock:
            asked, stopped = self._seen.get(self._run_id, (-10.0, False))
            if now - asked < 1:
                return stopped
            self._seen[self._run_id] = (now, stopped)
        # A cancelled run may be resumed, so the answer is never final.
        with _books():
            stopped = Run.objects.filter(pk=self._run_id, status=RunStatus.CANCELLED).exists()
        with self._lock:
            self._seen[self._run_id] = (now, stopped)
        return stopped
