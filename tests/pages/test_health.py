"""The health check needs no sign-in and names what is wrong."""

from __future__ import annotations

import re
import shutil
import time

import pytest
from django.db import OperationalError, connection

from agents.contract import EndpointAway, ServiceAway
from bench import redis_server as calls
from bench.runs import outages
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


@pytest.fixture
def a_worker(no_workers):
    no_workers.zadd(ALIVE_KEY, {"a-worker": time.time()})


def test_the_site_is_well_when_database_queue_and_a_worker_answer(client, a_worker):
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


def test_a_full_disk_is_named_before_the_database_meets_it(client, a_worker, monkeypatch):
    """Nothing is well on a disk on which the next statement may fail."""
    monkeypatch.delenv("DATABASE_URL", raising=False)
    left = shutil.disk_usage("/")._replace(free=3 * 2**20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: left)
    response = client.get("/healthz")
    assert (response.status_code, response.json()["status"]) == (503, "unwell")
    assert response.json()["disk"].startswith("only 3 MB are free at ")


def test_a_database_that_does_not_answer_is_named_with_the_moment_since_when(client, a_worker):
    def refuse(*_):
        raise OperationalError("the database system is in recovery mode")

    with connection.execute_wrapper(refuse):
        response = client.get("/healthz")
    assert response.status_code == 503
    said = response.json()["database"]
    assert re.fullmatch(r"does not answer since \d\d:\d\d UTC: the database system is in recovery mode", said)
    assert client.get("/healthz").json()["database"] == "ok"


@pytest.mark.parametrize(
    ("away", "name"), [("PostgreSQL", "database"), ("Redis", "queue"), ("embeddings", "embeddings")]
)
def test_what_workers_found_to_be_away_makes_the_site_unwell_though_it_answers_the_site(client, a_worker, away, name):
    outage = ServiceAway(away, "could not extend file: No space left on device")
    outages.note(outage)
    response = client.get("/healthz")
    assert response.status_code == 503
    said = response.json()[name]
    assert said == f"does not answer since {outage.since:%H:%M} UTC: could not extend file: No space left on device"


def test_an_endpoint_that_is_away_is_named_and_the_site_stays_well(client, a_worker):
    for _ in range(outages.OPENS_AT):
        outages.note(EndpointAway("theirs", "status 502"))
    response = client.get("/healthz")
    assert (response.status_code, response.json()["status"]) == (200, "ok")
    assert response.json()["endpoint 'theirs'"].endswith(": status 502")
