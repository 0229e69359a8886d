"""Rows that many tests start from: made once in a process, and from then on copied in as they were.

What is copied in has the same keys each time. No other row ever gets them, since sequences never go back.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from django.apps import apps
from django.core.cache import cache as django_cache
from django.db import connection, models, transaction

from bench.search.history import forget

Made = TypeVar("Made", bound=models.Model)


@dataclass(frozen=True)
class _Kept:
    """One object to begin with, and the rows of each table in PostgreSQL's binary format."""

    model: type[models.Model]
    pk: Any
    rows: dict[str, bytes]


PLANNED_FOR = 20_000  # bytes of a table from which on the planner is told of its rows, as whoever made them did
_known: dict[Hashable, _Kept] = {}


def start_from(key: Hashable, make: Callable[[], Made]) -> Made:
    """What ``make`` makes, read anew. ``make`` adds rows of bench and annotation and changes none that were there."""
    if key not in _known:
        before = _newest()
        made = make()
        _known[key] = _Kept(type(made), made.pk, _rows_after(before))
    else:
        _copy_in(_known[key].rows)
    found = _known[key]
    return found.model._default_manager.get(pk=found.pk)  # type: ignore[return-value]


@cache
def _tables() -> dict[str, str]:
    """Table -> its column with the primary key, where that is a number."""
    found = [model for app in ("bench", "annotation") for model in apps.get_app_config(app).get_models(True)]
    keys = {model._meta.db_table: model._meta.pk for model in found}
    return {table: key.column for table, key in keys.items() if not isinstance(key, models.CharField)}


def _newest() -> dict[str, int]:
    each = [f"SELECT '{table}', max({key}) FROM {table}" for table, key in _tables().items()]  # noqa: S608 (ours)
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(each))
        return {table: newest or 0 for table, newest in cursor.fetchall()}


def _rows_after(before: dict[str, int]) -> dict[str, bytes]:
    columns, rows = _tables(), {}
    with connection.cursor() as cursor:
        for table, newest in _newest().items():
            if newest > before[table]:
                added = f"SELECT * FROM {table} WHERE {columns[table]} > {before[table]}"  # noqa: S608 (ours)
                with cursor.copy(f"COPY ({added}) TO STDOUT (FORMAT binary)") as copy:
                    rows[table] = b"".join(copy)
    return rows


def _copy_in(rows: dict[str, bytes]) -> None:
    """As a replica would: no trigger counts what was counted when the rows were made, no reference is checked again."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        for table, data in rows.items():
            with cursor.copy(f"COPY {table} FROM STDIN (FORMAT binary)") as copy:
                copy.write(data)
        cursor.execute("SET LOCAL session_replication_role = origin")
        if many := [table for table, data in rows.items() if len(data) > PLANNED_FOR]:
            cursor.execute(f"ANALYZE {', '.join(many)}")
    forget()  # other histories had the same keys
    django_cache.clear()  # and other numbers
