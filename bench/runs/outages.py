"""What is away, told by any worker and seen by all: units wait for it, and it is asked now and then.

A service of ours counts as away from its first failure. An endpoint does after a few failures in a row over all
workers (a breaker); until then, and where it answers to others, a failure is the unit's own.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import F
from django.utils import timezone
from redis.exceptions import RedisError

from agents.contract import EndpointAway, Outage, ServiceAway, endpoint_label
from bench.database import first_line
from bench.models import OutageRow, Run, RunStatus, Unit, UnitStatus
from bench.redis_server import redis_client

OPENS_AT = 3  # failures of an endpoint in a row
FIRST_PROBE_S = 2.0
LONGEST_PROBE_S = 60.0
_jitter = random.SystemRandom()

_NOTE = """
    INSERT INTO bench_outagerow (away, endpoint, since, failures, is_open, reason, probe_at, probes)
    VALUES (%(away)s, %(endpoint)s, %(since)s, 1, %(opens_at)s <= 1, %(reason)s, %(probe_at)s, 0)
    ON CONFLICT (away) DO UPDATE SET
        failures = bench_outagerow.failures + 1,
        is_open = bench_outagerow.failures + 1 >= %(opens_at)s,
        reason = excluded.reason
    RETURNING is_open
"""


@dataclass(frozen=True)
class Waiting:
    """One thing that a run waits for."""

    away: str
    since: datetime
    reason: str
    is_endpoint: bool = False

    def __str__(self) -> str:
        return f"waiting for {self.away} since {self.since:%H:%M} UTC: {self.reason}"


class _Seen:
    """This process's copy of what is away, so that a call asks no table whether it may start."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: Mapping[str, OutageRow] = {}

    def look(self) -> Mapping[str, OutageRow]:
        rows = {row.away: row for row in OutageRow.objects.all()}
        with self._lock:
            self._rows = rows
        return rows

    def get(self, away: str) -> OutageRow | None:
        with self._lock:
            return self._rows.get(away)


_seen = _Seen()
look = _seen.look


def note(outage: Outage) -> bool:
    """Write down a failure. True where units now wait for it."""
    endpoint = outage.endpoint if isinstance(outage, EndpointAway) else ""
    values: dict[str, str | int | datetime] = {
        "away": outage.away,
        "endpoint": endpoint,
        "since": outage.since,
        "reason": str(outage)[:500],
        "opens_at": OPENS_AT if endpoint else 1,
        "probe_at": timezone.now() + timedelta(seconds=FIRST_PROBE_S),
    }
    with connection.cursor() as cursor:
        cursor.execute(_NOTE, values)
        is_open = bool(cursor.fetchone()[0])
    _seen.look()
    return is_open


def over(away: str) -> list[int]:
    """It answers again: what waits for it may go on. Returns the runs to send units of."""
    OutageRow.objects.filter(away=away).delete()
    _seen.look()
    Unit.objects.filter(waits_for=away, wait_until__isnull=False).update(wait_until=None, waits=0)
    return list(Run.objects.filter(status=RunStatus.RUNNING).order_by("pk").values_list("pk", flat=True))


def answered(endpoint: str) -> None:
    """A call to the endpoint succeeded. Asks the database only where the endpoint has failed lately."""
    label = endpoint_label(endpoint)
    if _seen.get(label) is not None:
        OutageRow.objects.filter(away=label).delete()
        _seen.look()


def check_endpoint(endpoint: str) -> None:
    """Raises KnownAway where units wait for the endpoint already."""
    row = _seen.get(endpoint_label(endpoint))
    if row is not None and row.is_open:
        raise KnownAway(endpoint, row.reason)


class KnownAway(EndpointAway):
    """Nobody asked the endpoint: it was away a moment ago."""


def is_own_failure(outage: Outage, *, is_open: bool) -> bool:
    """Whether it counts as an attempt of the unit: its endpoint failed with it and is there for others."""
    return isinstance(outage, EndpointAway) and not is_open


def take_due() -> OutageRow | None:
    """One that is to be asked now, and by this process only; its next turn comes after a longer pause."""
    now = timezone.now()
    for row in OutageRow.objects.filter(is_open=True, probe_at__lte=now).order_by("probe_at"):
        pause = min(LONGEST_PROBE_S, FIRST_PROBE_S * 2.0**row.probes) * _jitter.uniform(0.8, 1.0)
        mine = OutageRow.objects.filter(pk=row.pk, probe_at=row.probe_at)
        if mine.update(probe_at=now + timedelta(seconds=pause), probes=F("probes") + 1):
            return row
    return None


def still_away(away: str, reason: str) -> None:
    OutageRow.objects.filter(away=away).update(reason=reason[:500])


def waiting_for(run: Run) -> list[Waiting]:
    """What a running run waits for now, the longest first."""
    rows = _open_rows()
    if not rows:
        return []
    needed = {run.manifest["model"]["slug"], run.model, *run.manifest["policy"]["panel"]}
    waited = set(Unit.objects.filter(run=run).exclude(waits_for="").values_list("waits_for", flat=True).distinct())
    found = [row for row in rows if row.away in waited or row.endpoint in needed or not row.endpoint]
    return [_waiting(row) for row in found]


def _waiting(row: OutageRow) -> Waiting:
    return Waiting(row.away, row.since, row.reason, bool(row.endpoint))


def _open_rows() -> list[OutageRow]:
    """As it is now: whether Redis answers is asked here, since without it no worker may be there to say so."""
    try:
        redis_client().ping()
    except RedisError as error:
        note(ServiceAway("Redis", first_line(error)))
    return list(OutageRow.objects.filter(is_open=True))


def waiting_now() -> list[Waiting]:
    """Everything that is away."""
    return [_waiting(row) for row in _open_rows()]


def due_runs() -> list[int]:
    """Runs with units whose pause has ended and which nobody has sent to the queue since."""
    units = Unit.objects.filter(
        wait_until__lte=timezone.now(), enqueued_at=None, status__in=[UnitStatus.QUEUED, UnitStatus.ACTED]
    )
    return sorted(set(units.order_by().values_list("run_id", flat=True)))
