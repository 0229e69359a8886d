"""The embedded services: database, queue, embeddings, simulated model, worker, site.

Where DATABASE_URL, REDIS_URL or EMBEDDINGS_URL name real servers, those are
used and nothing of that kind is started here.
"""

from iba_site.services.manager import (
    check_port,
    database_url,
    embeddings_url,
    ensure,
    ensure_for_command,
    is_embedded,
    offline_url,
    redis_url,
    status,
    stop,
)
from iba_site.services.process import ServiceError

__all__ = [
    "ServiceError",
    "check_port",
    "database_url",
    "embeddings_url",
    "ensure",
    "ensure_for_command",
    "is_embedded",
    "offline_url",
    "redis_url",
    "status",
    "stop",
]
