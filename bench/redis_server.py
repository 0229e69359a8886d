"""The Redis that all processes share: queue, limits, heartbeats, who buys a call."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings
from redis import Redis
from redis.backoff import ExponentialBackoff
from redis.retry import Retry

TIMEOUT_S = 5.0


@lru_cache(maxsize=1)
def redis_client() -> Redis:
    """Waits neither for one that hangs nor long for one that is away: whoever asks has something better to do."""
    return Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=TIMEOUT_S,
        socket_connect_timeout=TIMEOUT_S,
        retry=Retry(ExponentialBackoff(cap=0.2, base=0.05), 2),
    )
