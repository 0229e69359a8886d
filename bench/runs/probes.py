"""Asks what is away whether it is back, and sends the units that wait for it. One thread a worker does this."""

from __future__ import annotations

import logging
import time

from django.db import DatabaseError, InterfaceError, connection, transaction
from redis.exceptions import RedisError

from agents.contract import LLMError, Outage
from agents.model.embeddings import EmbeddingError, EmbeddingRejected
from agents.model.transport import Transient
from bench.database import first_line, release_connection
from bench.models import OutageRow
from bench.redis_server import redis_client
from bench.runs import outages
from bench.runs.endpoints import KeyMissing, OfflineStopped, UnknownModel, resolve_endpoint
from bench.runs.reach import learn_system_role, ping
from bench.search.vectors import EmbeddingsMissing, client

log = logging.getLogger(__name__)

TICK_S = 1.0
PROBE_TIMEOUT_S = 30.0
# Far more than a page, so that the disk has to give something.
_NEEDS_DISK = "CREATE TEMP TABLE room ON COMMIT DROP AS SELECT repeat('x', 1000) FROM generate_series(1, 1000)"


def probe_for_ever() -> None:
    while True:
        try:
            tick()
        except (DatabaseError, InterfaceError, RedisError) as error:
            log.warning("nothing was probed: %s", first_line(error))
        except Exception:
            log.exception("a probe broke by a fault of this program")
        finally:
            release_connection()
        time.sleep(TICK_S)


def tick() -> None:
    """One round: see what others found to be away, probe what is due, send what has waited long enough."""
    from bench.runs.tasks import dispatch

    runs = outages.due_runs()
    if outages.look():
        while row := outages.take_due():
            runs += probe(row)
    for run_id in dict.fromkeys(runs):
        dispatch(run_id)


def probe(row: OutageRow) -> list[int]:
    """The runs that may go on because it answers again, [] where it does not."""
    reason = still_away(row)
    if reason:
        outages.still_away(row.away, reason)
        return []
    log.warning("%s answers again", row.away)
    return outages.over(row.away)


def still_away(row: OutageRow) -> str:
    """Why it counts as away, "" where it answers."""
    try:
        if row.endpoint:
            _ask_endpoint(row.endpoint)
        elif row.away == "Redis":
            redis_client().ping()
        elif row.away == "embeddings":
            client().embed(["ping"], kind="query")
        else:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(_NEEDS_DISK)
    except EmbeddingRejected:
        return ""  # it answers; what it says is settled with the texts themselves
    except (DatabaseError, InterfaceError, RedisError, EmbeddingError, EmbeddingsMissing) as error:
        return first_line(error)
    except (Transient, Outage, KeyMissing, OfflineStopped) as error:
        return str(error)
    return ""


def _ask_endpoint(name: str) -> None:
    """Buys the shortest completion there is, which is in the books and on no run's bill.

    A list of models would cost nothing and say nothing: a gateway has one while the model behind it is gone.
    A server that refuses the request answers, and so does one that is no longer registered: its units fail then.
    """
    try:
        endpoint = resolve_endpoint(name)
    except OfflineStopped:
        raise
    except UnknownModel:
        return
    try:
        ping(endpoint, [{"role": "user", "content": "ping"}], PROBE_TIMEOUT_S)
        learn_system_role(name)  # nobody could be asked at the launch or when the run was resumed
    except Outage:
        raise
    except LLMError:
        return
