"""When a task is asked, and which day its request is about."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from random import Random

from bench.catalogue.scenario import Request
from bench.generation.histories import ordinal
from bench.generation.placing import kind_days
from bench.generation.spec import DAYS, TASKS_FROM_DAY, PersonaSpec, day_at, day_number


def as_of_task(persona: PersonaSpec, rng: Random) -> datetime:
    """Half of the moments lie within or shortly after a state, the others anywhere in the last months."""
    if persona.states and rng.random() < 0.6:
        period = rng.choice(persona.states)
        first, length = day_number(period.start), (period.end - period.start).days
        inside = rng.random() < 0.7
        day = first + rng.randint(1, max(1, length - 1)) if inside else first + length + rng.randint(2, 25)
        return day_at(min(day, DAYS - 1), rng.randint(8, 20), rng.choice((0, 10, 25, 40)))
    return day_at(rng.randint(TASKS_FROM_DAY + 20, DAYS - 1), rng.randint(8, 20), rng.choice((5, 15, 30, 50)))


def kinds_of(given: str | tuple[str, ...]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else given


def days_meant(request: Request) -> set[int]:
    """Weekdays that the request's day can be: as it is marked; else at a weekend only where it says so."""
    if request.day:
        return kind_days(kinds_of(request.day))
    return kind_days(("weekend",) if request.context == "at_weekend" else ("weekday",))


def day_after(today: date, weekdays: set[int], rng: Random) -> date:
    """A day within the next week, on one of the weekdays."""
    days = [today + timedelta(days=n) for n in range(1, 8)]
    return rng.choice([day for day in days if day.weekday() in weekdays])


def unstated_day(today: date, context: str) -> date:
    """When a request is meant that names no day: today, or the coming Saturday where it says so."""
    return today + timedelta(days=(5 - today.weekday()) % 7 or 7) if context == "at_weekend" else today


class NamedDay:
    """A date in a request: ``{day}`` reads "Friday the 14th", ``{day:iso}`` "2026-03-14"."""

    def __init__(self, day: date) -> None:
        self.day = day

    def __format__(self, spec: str) -> str:
        return self.day.isoformat() if spec == "iso" else f"{self.day:%A} the {ordinal(self.day.day)}"
