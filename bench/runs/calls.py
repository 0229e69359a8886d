"""What was bought from models, kept in the database; and the bill of a run."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import F
from redis import Redis
from redis.exceptions import RedisError

from agents.contract import JSON, BudgetExceeded, LLMError, ModelUnavailable, Usage
from agents.endpoints import StoredCall
from agents.gates import RedisGate
from bench.database import release_connection
from bench.models import ModelCall, Run, RunStatus


class BooksUnavailable(LLMError):
    """The database that keeps calls and bills does not answer. Nobody's verdict, and never the agent's fault."""


@contextmanager
def _books() -> Iterator[None]:
    """Reads or writes within a model call: short, and a fault of the database is not one of the agent's code."""
    try:
        yield
    except DatabaseError as error:
        raise BooksUnavailable(f"the database does not keep the books of model calls: {error}") from error
    finally:
        release_connection()


class DatabaseStore:
    """``agents.endpoints.CallStore`` for one unit of a run, or for work outside any run.

    ``put`` writes the call and adds its price to the run's bill in one transaction, so that a kill
    between the two is impossible. One row a key, whoever buys first.
    """

    def __init__(self, *, run_id: int | None, unit_id: int | None, endpoint: str) -> None:
        self._run_id = run_id
        self._unit_id = unit_id
        self._endpoint = endpoint

    def find(self, keys: Sequence[str]) -> dict[str, StoredCall]:
        wanted = ("key", "response", "tokens_in", "tokens_out", "cost_usd", "latency_s", "stage")
        with _books():
            rows = list(ModelCall.objects.filter(key__in=keys).values_list(*wanted))
        return {
            key: StoredCall(response, Usage(1, tokens_in, tokens_out, cost_usd), latency_s, stage)
            for key, response, tokens_in, tokens_out, cost_usd, latency_s, stage in rows
        }

    def put(self, key: str, request: JSON, call: StoredCall) -> None:
        row = ModelCall(
            key=key,
            endpoint=self._endpoint,
            model=request.get("model", ""),
            stage=call.stage,
            unit_id=self._unit_id,
            request=request,
            response=call.response,
            tokens_in=call.usage.tokens_in,
            tokens_out=call.usage.tokens_out,
            cost_usd=call.usage.cost_usd,
            latency_s=call.latency_s,
        )
        with _books(), transaction.atomic():
            ModelCall.objects.bulk_create([row], ignore_conflicts=True)
            if call.usage.cost_usd and self._run_id is not None:
                Run.objects.filter(pk=self._run_id).update(spent_usd=F("spent_usd") + call.usage.cost_usd)


class Bill:
    """Refuses new calls once the run's budget is used up. What is spent is written by the call store."""

    def __init__(self, run: Run) -> None:
        self._run_id = run.pk

    def __call__(self, usage: Usage) -> None:
        """Raises BudgetExceeded before a call; after one its ``usage`` is in the books already.

        The budget may have changed since the last call.
        """
        if usage != Usage():
            return
        with _books():
            spent, budget = Run.objects.values_list("spent_usd", "budget_usd").get(pk=self._run_id)
        if budget is not None and spent >= budget:
            raise BudgetExceeded(f"run {self._run_id} has spent {spent:.2f} of {budget:.2f} USD")


@lru_cache(maxsize=1)
def redis_client() -> Redis:
    return Redis.from_url(settings.REDIS_URL)


@lru_cache(maxsize=1)
def gate() -> RedisGate:
    return RedisGate(redis_client())


class OneBuyer:
    """Of all threads and workers that want to buy the same call, one does; the others find it in the store.

    The right to buy is a lease like a unit's: it ends ``LEASE_S`` after its holder's last heartbeat.
    """

    POLL_S = 0.1
    _RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) end"
    _held: set[str] = set()

    @contextmanager
    def __call__(self, key: str, check: Callable[[], None]) -> Iterator[None]:
        """Waits for its turn. ``check`` is called meanwhile and may raise. Raises ModelUnavailable without Redis."""
        name, token, redis = f"iba:buying:{key}", uuid.uuid4().hex, redis_client()
        try:
            while not redis.set(name, token, nx=True, ex=settings.LEASE_S):
                check()
                time.sleep(self.POLL_S)
        except RedisError as error:
            text = f"Redis does not say who buys a call: {error}. Start it, or set REDIS_URL."
            raise ModelUnavailable(text) from error
        self._held.add(name)
        try:
            yield
        finally:
            self._held.discard(name)
            with suppress(RedisError):  # ends by itself
                redis.eval(self._RELEASE, 1, name, token)

    @classmethod
    def renew(cls) -> None:
        """The heartbeat's part. Raises RedisError."""
        for name in tuple(cls._held):
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
