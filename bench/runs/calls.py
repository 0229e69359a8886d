"""What was bought from models, kept in the database; and the bill of a run."""

from __future__ import annotations

import threading
import time
from functools import lru_cache

from django.conf import settings
from django.db.models import F
from redis import Redis

from agents.contract import BudgetExceeded, Usage
from agents.endpoints import StoredCall
from agents.gates import RedisGate
from bench.database import release_connection
from bench.models import ModelCall, Run, RunStatus


class DatabaseStore:
    """``agents.endpoints.CallStore``. Durable when ``put`` returns; one row a key, whoever buys first."""

    def __init__(self, unit_id: int | None, endpoint: str) -> None:
        self._unit_id = unit_id
        self._endpoint = endpoint

    def get(self, key: str) -> StoredCall | None:
        row = ModelCall.objects.filter(key=key).first()
        release_connection()
        if row is None:
            return None
        usage = Usage(1, row.tokens_in, row.tokens_out, row.cost_usd)
        return StoredCall(row.request, row.response, usage, row.latency_s, row.stage)

    def put(self, key: str, call: StoredCall) -> None:
        ModelCall.objects.bulk_create(
            [
                ModelCall(
                    key=key,
                    endpoint=self._endpoint,
                    model=call.request.get("model", ""),
                    stage=call.stage,
                    unit_id=self._unit_id,
                    request=call.request,
                    response=call.response,
                    tokens_in=call.usage.tokens_in,
                    tokens_out=call.usage.tokens_out,
                    cost_usd=call.usage.cost_usd,
                    latency_s=call.latency_s,
                )
            ],
            ignore_conflicts=True,
        )
        release_connection()


class Bill:
    """Adds what a run spends and refuses new calls once its budget is used up. Shared through the database."""

    def __init__(self, run: Run) -> None:
        self._run_id = run.pk
        self._budget_usd = run.budget_usd

    def __call__(self, usage: Usage) -> None:
        if usage.cost_usd:
            Run.objects.filter(pk=self._run_id).update(spent_usd=F("spent_usd") + usage.cost_usd)
        if self._budget_usd is None:
            return
        spent, budget = Run.objects.values_list("spent_usd", "budget_usd").get(pk=self._run_id)
        release_connection()
        if budget is not None and spent >= budget:
            raise BudgetExceeded(f"run {self._run_id} has spent {spent:.2f} of {budget:.2f} USD")


@lru_cache(maxsize=1)
def redis_client() -> Redis:
    return Redis.from_url(settings.REDIS_URL)


@lru_cache(maxsize=1)
def gate() -> RedisGate:
    return RedisGate(redis_client())


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
            if stopped or now - asked < 1:
                return stopped
            self._seen[self._run_id] = (now, False)
        stopped = Run.objects.filter(pk=self._run_id, status=RunStatus.CANCELLED).exists()
        release_connection()
        with self._lock:
            self._seen[self._run_id] = (now, stopped)
        return stopped
