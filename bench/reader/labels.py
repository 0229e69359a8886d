"""What generated texts mean: the labels of the texts that stand in a prompt, and of no others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TypedDict

from django.db.models import Max

from bench.database import release_connection
from bench.generation.histories import ordinal
from bench.models import Event, EventLabel, EventRole
from bench.serving import Lru
from bench.texts import text_sha256

REMEMBERED = 50_000


@dataclass(frozen=True)
class Meaning:
    """A text's label. ``ends``: for the start of a state, day of writing -> last day, where the text names it."""

    role: str
    dimension: str
    value: str
    group: str
    ends: Mapping[date, date] = field(default_factory=dict)


Lookup = Callable[[Collection[str]], Mapping[str, Meaning]]


class _State(TypedDict):
    state: str
    start: str
    end: str


_known: Lru[str, Meaning] = Lru(REMEMBERED)


def meanings(texts: Collection[str]) -> dict[str, Meaning]:
    """Text -> its label, the newest where there are several; texts that no generated history holds are left out."""
    by_hash = {text_sha256(text): text for text in texts}
    found = {key: known for key in by_hash if (known := _known.get(key)) is not None}
    missing = [key for key in by_hash if key not in found]
    if missing:
        read = _read(missing)
        found |= read
        for key, known in read.items():
            _known.put(key, known)
    return {by_hash[key]: known for key, known in found.items()}


def _read(hashes: list[str]) -> dict[str, Meaning]:
    labels = EventLabel.objects.filter(event__text_sha256__in=hashes).values_list(
        "event__text_sha256", "role", "dimension", "value", "group"
    )
    try:
        rows = list(labels.annotate(newest=Max("pk")).order_by("newest"))
        found = {key: Meaning(role, dimension, value, group) for key, role, dimension, value, group, _ in rows}
        starts = [key for key, meaning in found.items() if meaning.role == EventRole.STATE_START]
        for key, ends in _ends(starts).items():
            found[key] = replace(found[key], ends=ends)
    finally:
        release_connection()
    return found


def _ends(hashes: list[str]) -> dict[str, dict[date, date]]:
    rows = Event.objects.filter(text_sha256__in=hashes, label__isnull=False).values_list(
        "text_sha256", "text", "occurred_at", "label__group", "persona__states"
    )
    found: dict[str, dict[date, date]] = {}
    for key, text, at, group, states in rows if hashes else ():
        end = _end(text, at.date(), group, states)
        if end is not None:
            found.setdefault(key, {})[at.date()] = end
    return found


def _end(text: str, on: date, group: str, states: Iterable[_State]) -> date | None:
    """The end of the state that the text announces; None where the text does not say when."""
    for period in states:
        start, end = date.fromisoformat(period["start"]), date.fromisoformat(period["end"])
        named = (ordinal(end.day), f"{end.day} {end:%B}", f"{end:%A}", str((end - start).days))
        if period["state"] == group and start <= on <= end and any(word in text for word in named):
            return end
    return None
