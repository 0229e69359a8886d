"""Numbers of a run that are computed once and kept until something that they are made of changes.

Triggers count it (``ScoreChanges``) whenever a verdict is added, a score changes, or a unit fails or is tried again.
Numbers are computed from one moment of the database, kept together with the count of that moment, and shown only
while that is still the count. So what is shown is never stale. ``FORMAT`` stands beside them: what other code has kept
is computed anew. Whoever computes puts it into the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from django.core.cache import cache
from django.db import connection, transaction
from django.db.models import Q

from bench.models import Run

Numbers = TypeVar("Numbers", bound=Mapping[str, object])
DAY_S = 24 * 3600
FORMAT = 7  # raise it with every change of what the numbers of a run are, or of how they are computed


def keep(run: Run, field: str, compute: Callable[[Run], Numbers]) -> Numbers:
    """What ``compute`` returns, kept in the named field of the run. ``run`` is as new as its reading."""
    if kept(run, field) is None:
        with one_moment():
            version = version_of(run)
            found = compute(run)
        changes = {field: found, f"{field}_version": version}
        newer = Q(**{f"{field}_version__gt": version})
        Run.objects.filter(pk=run.pk).exclude(newer).update(**changes)
        for name, value in {**changes, "scores_version": version}.items():
            setattr(run, name, value)
    numbers: Numbers = getattr(run, field)
    return numbers


def kept(run: Run, field: str) -> Mapping[str, object] | None:
    """What the run keeps in the field; None where something has changed since it was computed."""
    found: Mapping[str, object] | None = getattr(run, field)
    if found is None or found.get("format") != FORMAT:
        return None
    return found if getattr(run, f"{field}_version") == run.scores_version else None


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
    return Run(pk=run.pk).scores_version


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
