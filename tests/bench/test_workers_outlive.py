"""A worker outlives the services that die around it: nobody has to start it again."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone

from bench.models import Unit
from bench.runs.launch import launch_run
from bench.runs.spec import RunSpec
from tests.bench.live import Worker, wait_for, wait_until_over
from tests.site.test_services import Home, kill_9


@pytest.fixture
def own_home(tmp_path_factory):
    home = Home(tmp_path_factory.mktemp("home"))
    yield home
    home.do("stop")


@pytest.mark.django_db(transaction=True)
def test_a_worker_outlives_a_redis_that_dies_with_messages_in_the_workers_hands(tiny, offline, own_home):
    """A message counts as taken until its unit is done. At the kill two are in hand, and the worker waits for more."""
    redis = own_home.start("redis").record("redis")
    offline.hold(after=0)
    run = launch_run(RunSpec(dataset="tiny", methods=["rag"], model="offline", limit=4, max_in_flight=2))
    # Its messages went to another Redis; a worker sends again what nobody took for three leases.
    Unit.objects.filter(run=run).update(enqueued_at=timezone.now() - timedelta(hours=1))
    worker = Worker(offline.url, threads=4, REDIS_URL=redis.url, LEASE_S="2")
    try:
        wait_for("two units ask the model", lambda: offline.waiting == 2)
        kill_9(redis)
        wait_for("the worker knows", lambda: b"Connection to broker lost" in worker.log.read_bytes())
        offline.release()  # what was under way ends while there is no Redis
        wait_for("units wait for Redis", lambda: Unit.objects.filter(run=run, waits_for="Redis").exists())
        assert own_home.start("redis").record("redis").url == redis.url
        wait_until_over(run)
        assert worker.process.poll() is None, worker.log.read_text()[-3000:]
    finally:
        worker.end()
    assert Counter(Unit.objects.filter(run=run).values_list("status", flat=True)) == {"scored": 4}
