"""The health check needs no sign-in and names what is wrong."""

from __future__ import annotations

import time

import pytest

from bench import redis_server as calls
from bench.runs.worker import ALIVE_KEY

pytestmark = pytest.mark.django_db


@pytest.fixture
def no_workers():
    redis = calls.redis_client()
    kept = redis.zrange(ALIVE_KEY, 0, -1, withscores=True)
    redis.delete(ALIVE_KEY)
    yield redis
    redis.delete(ALIVE_KEY)
    if kept:
        redis.zadd(ALIVE_KEY, dict(kept))


def test_the_site_is_well_when_database_queue_and_a_worker_answer(client, no_workers):
    no_workers.zadd(ALIVE_KEY, {"a-worker": time.time()})
    response = client.get("/healthz")
    assert response.status_code == 200
    assert response.json() == {"status": "ok", "database": "ok", "queue": "ok", "worker": "ok"}


def test_a_missing_worker_is_named(client, no_workers):
    response = client.get("/healthz")
    assert response.status_code == 503
    assert response.json()["worker"] == "no worker runs; start one with `make worker`"


def test_a_worker_that_fell_silent_does_not_count(client, no_workers):
    no_workers.zadd(ALIVE_KEY, {"a-worker": time.time() - 60})
    assert client.get("/healthz").status_code == 503


def test_a_dead_queue_is_named(client, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    calls.redis_client.cache_clear()
    try:
        response = client.get("/healthz")
    finally:
        calls.redis_client.cache_clear()
    assert response.status_code == 503
    assert response.json()["queue"].startswith("does not answer")
    assert response.json()["database"] == "ok"
