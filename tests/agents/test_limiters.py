"""Limits shared by workers, on a real Redis."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from contextlib import ExitStack

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from agents.contract import Cancelled, ModelUnavailable, ServiceAway
from agents.model.client import Endpoint
from agents.model.limits import LocalLimiter, RedisLimiter
from tests.agents.support import ROOT

HOLDER = """
import sys, signal, redis
from agents.model.client import Endpoint, RedisLimiter
endpoint = Endpoint("e", "http://h/v1", "m", max_in_flight=1, timeout_s=0.4)
limiter = RedisLimiter(redis.Redis(unix_socket_path=sys.argv[1]), lease_margin_s=0.1)
with limiter.slot(endpoint, 1, wait_s=5):
    print("held", flush=True)
    signal.pause()
"""


def endpoint(**changes):
    return Endpoint(**{"slug": "e", "base_url": "http://h/v1", "model": "m"} | changes)


def in_flight(redis_client):
    """Slots of the endpoint that are taken, over all workers."""
    return redis_client.zcard("iba:limiter:{e}:leases")


def no_wait(_: float) -> None:
    """Polls again at once."""


def test_two_workers_together_hold_no_more_than_the_limit(redis_client):
    shared, seen = endpoint(max_in_flight=3), []
    workers = [RedisLimiter(redis_client, sleep=no_wait) for _ in range(2)]

    def work(limiter):
        for _ in range(5):
            with limiter.slot(shared, 1, wait_s=30):
                seen.append(in_flight(redis_client))

    threads = [threading.Thread(target=work, args=(workers[number % 2],)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 40
    assert max(seen) <= 3
    assert in_flight(redis_client) == 0


def test_the_slot_of_a_killed_worker_comes_back_when_its_lease_ends(redis_socket, redis_client):
    arguments = [sys.executable, "-c", HOLDER, redis_socket]
    with subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        holder.send_signal(signal.SIGKILL)
    limiter, limited = RedisLimiter(redis_client), endpoint(max_in_flight=2)
    # One of two slots is free. The other is free again when the lease of 0.4 + 0.1 s ends.
    with limiter.slot(limited, 1, wait_s=0.2), limiter.slot(limited, 1, wait_s=10):
        assert in_flight(redis_client) == 2


def test_a_full_endpoint_gives_up_after_the_wait_and_names_the_remedy(redis_client):
    limited = endpoint(max_in_flight=1)
    first, second = RedisLimiter(redis_client), RedisLimiter(redis_client)
    with (
        first.slot(limited, 1, wait_s=1),
        pytest.raises(ModelUnavailable, match=r"no free slot within 0 s. Raise max_in_flight \(1\)"),
        second.slot(limited, 1, wait_s=0.01),
    ):
        pass


def test_requests_a_minute_are_a_bucket(redis_client):
    limiter, limited = RedisLimiter(redis_client), endpoint(requests_per_minute=2)
    for _ in range(2):
        with limiter.slot(limited, 1, wait_s=0):
            pass
    # The next one is due in 60 s / 2 = 30 s.
    with pytest.raises(ModelUnavailable), limiter.slot(limited, 1, wait_s=20):
        pass


def test_tokens_a_minute_are_a_bucket_and_a_large_request_takes_all_of_it(redis_client):
    limiter, limited = RedisLimiter(redis_client), endpoint(tokens_per_minute=1000)
    with limiter.slot(limited, 600, wait_s=0):
        pass
    # 400 are left; the missing 200 take 12 s
    with pytest.raises(ModelUnavailable), limiter.slot(limited, 600, wait_s=5):
        pass
    with limiter.slot(limited, 300, wait_s=0):
        pass
    with limiter.slot(endpoint(slug="other", tokens_per_minute=1000), 5000, wait_s=0):
        pass


def test_a_bucket_refills_evenly(redis_client):
    limiter, limited = RedisLimiter(redis_client), endpoint(requests_per_minute=6000)  # one each 10 ms
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(limiter.slot(limited, 1, wait_s=1))
    before = float(redis_client.hget("iba:limiter:{e}:buckets", "requests"))
    redis_client.hincrby("iba:limiter:{e}:buckets", "at", -1000)  # as if a second had passed
    redis_client.hset("iba:limiter:{e}:buckets", "requests", 0)
    with limiter.slot(limited, 1, wait_s=0):
        pass
    after = float(redis_client.hget("iba:limiter:{e}:buckets", "requests"))
    assert before < 6000
    assert 99 <= after < 300  # 100 for the second, and what passed meanwhile, less one


@pytest.mark.parametrize("kind", ["local", "redis"])
def test_cancelling_ends_the_wait_for_a_slot(redis_client, kind):
    limiter = LocalLimiter() if kind == "local" else RedisLimiter(redis_client)
    limited = endpoint(max_in_flight=1)
    with (
        limiter.slot(limited, 1, wait_s=1),
        pytest.raises(Cancelled),
        limiter.slot(limited, 1, wait_s=60, should_stop=lambda: True),
    ):
        pass


def test_a_slot_comes_back_when_the_call_raises(redis_client):
    limiter, limited = RedisLimiter(redis_client), endpoint(max_in_flight=1)
    with pytest.raises(ZeroDivisionError), limiter.slot(limited, 1, wait_s=1):
        raise ZeroDivisionError
    assert in_flight(redis_client) == 0


def test_without_redis_it_is_a_service_of_ours_that_is_away_and_the_error_says_what_to_do():
    limiter = RedisLimiter(redis.Redis(unix_socket_path="/nowhere/s", retry=Retry(NoBackoff(), 0)))
    with (
        pytest.raises(ServiceAway, match="Start it or set REDIS_URL") as caught,
        limiter.slot(endpoint(), 1, wait_s=1),
    ):
        pass
    assert caught.value.away == "Redis"
