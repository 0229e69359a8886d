"""Numbers of a run that are computed once and kept until something that they are made of changes.

A trigger counts up ``Run.scores_version`` and drops what the run keeps whenever a verdict is added, a score
changes, or a unit fails or is tried again. Numbers are computed from one moment of the database, together with the
version of that moment, and kept only while that is still the version. So what is kept is never stale. ``FORMAT``
stands beside them: what other code has kept is computed anew. Whoever computes puts it into the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from django.core.cache import cache
from django.db import connection, transaction

from bench.models import Run

Numbers = TypeVar("Numbers", bound=Mapping[str, object])
DAY_S = 24 * 3600
FORMAT = 7  # raise it with every change of what the numbers of a run are, or of how they are computed


def keep(run: Run, field: str, compute: Callable[[Run], Numbers]) -> Numbers:
    """What ``compute`` returns, kept in the named field of the run. ``run`` is as new as its reading."""
    kept = getattr(run, field)
    if kept is None or kept.get("format") != FORMAT:
        with one_moment():
            version = version_of(run)
            found = compute(run)
        Run.objects.filter(pk=run.pk, scores_version=version).update(**{field: found})
        setattr(run, field, found)
    numbers: Numbers = getattr(run, field)
    return numbers


def remember(name: str, runs: tuple[Run, ...], compute: Callable[[], Numbers]) -> Numbers:
    """What ``compute`` returns of these runs, in the cache under ``name`` and the versions of the runs."""
    found = cache.get(_key(name, {run.pk: run.scores_version for run in runs}))
    if found is None:
        with one_moment():
            versions = {run.pk: version_of(run) for run in runs}
            found = compute()
        cache.set(_key(name, versions), found, timeout=DAY_S)
    numbers: Numbers = found
    return numbers


def _key(name: str, versions: dict[int, int]) -> str:
    return ":".join([f"{name}-{FORMAT}", *(f"{pk}.{version}" for pk, version in versions.items())])


def version_of(run: Run) -> int:
    """The version in the database at this moment, which may be later than that of ``run``."""
    return Run.objects.values_list("scores_version", flat=True).get(pk=run.pk)


@contextmanager
def one_moment() -> Iterator[None]:
    """All reads within see the database as it was at the first. Within a transaction, they see what that one sees."""
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield
