"""Records of habits in a life: those that show one, and those of the same look that do not belong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from bench.catalogue import Catalogue
from bench.generation.habits import Recorded, contrasts, records
from bench.generation.life import Life, fill_named
from bench.generation.placing import at_clock
from bench.generation.spec import EventSpec, Habit, PersonaSpec

TRIES = 8  # draws for one record, since two that read alike would be one too many


def habit_events(catalogue: Catalogue, habit: Habit, life: Life) -> Iterator[EventSpec]:
    told = records(catalogue.regularities[habit.regularity], habit, life.deck, life.cast.rate)
    yield from _each_once(told, "regular", habit.regularity, life)


def contrast_events(catalogue: Catalogue, persona: PersonaSpec, count: int, life: Life) -> Iterator[EventSpec]:
    """About ``count``, as many beside each habit as beside every other."""
    for habit in persona.habits:
        alike = contrasts(catalogue.regularities[habit.regularity], life.deck, count // len(persona.habits))
        yield from _each_once(alike, "everyday", "", life)


def _each_once(told: Iterable[Recorded], role: str, regularity: str, life: Life) -> Iterator[EventSpec]:
    """The records as events; one that would read like an earlier one is drawn again, and left out at last."""
    for one in told:
        day = life.days.place(one.day, one.text)
        if day is None:
            continue
        words = fill_named(one.text.text, {"value": one.value})
        labels = (regularity, one.value, "", "") if regularity else ("", "", "", "")
        tries = (life.written(day, words, one.text, role, labels) for _ in range(TRIES))
        event = next((event for event in tries if event.text not in life.told), None)
        if event is not None:
            life.told.add(event.text)
            yield replace(event, occurred_at=at_clock(event.occurred_at, one.clock))
