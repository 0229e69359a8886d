"""Connections in threads that mostly wait, and a database that is away for a while."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.db.models import Model

log = logging.getLogger(__name__)

Result = TypeVar("Result")

FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 5.0
# What a moment can change, by class of SQLSTATE: connection, rollback, resources (disk), object in use,
# intervention (shutdown), system.
_PASSING = frozenset({"08", "40", "53", "55", "57", "58"})

_REMEDIES = {
    "53100": "the database's disk is full; free some of it, and try again",
    "53300": "the database takes no more connections; try again later, or set DB_POOL lower",
    "57P03": "the database is starting or stopping; try again in a moment",
    "40P01": "others changed the same at this moment; try again",
}


def release_connection() -> None:
    """Give the thread's connection back to the pool before a long wait; within a transaction it stays."""
    if not connection.in_atomic_block:
        connection.close()


def is_away(error: DatabaseError | InterfaceError) -> bool:
    """True where the server is gone, starting, full or busy; False where it refuses this statement."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    state = getattr(error.__cause__, "sqlstate", None)
    return state is None or state[:2] in _PASSING


def what_to_do(error: OperationalError) -> str:
    """What is wrong with the database, and the remedy, as the head of a sentence that ends with its own words."""
    state = getattr(error.__cause__, "sqlstate", None) or ""
    return _REMEDIES.get(state, "the database does not answer; start it with `make serve`")


def patiently(work: Callable[[], Result], *, said: Callable[[str], None] = log.warning) -> Result:
    """The result of ``work``, which is done again until the database answers. Not for use in a transaction.

    ``said`` is told once, at the first failure.
    """
    pause = FIRST_PAUSE_S
    while True:
        try:
            return work()
        except (OperationalError, InterfaceError) as error:
            if connection.in_atomic_block or not is_away(error):
                raise
            if pause == FIRST_PAUSE_S:
                said(f"waiting for PostgreSQL: {first_line(error)}")
            with suppress(DatabaseError, InterfaceError):
                connection.close()
        time.sleep(pause)
        pause = min(LONGEST_PAUSE_S, pause * 2)


def count_rows(*models: type[Model]) -> None:
    """Tell the planner how many rows there are now, after many were written at once.

    Until PostgreSQL looks by itself, it plans for the few that there were, and reads one table whole for each row
    of another.
    """
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {', '.join(connection.ops.quote_name(model._meta.db_table) for model in models)}")


def first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]
