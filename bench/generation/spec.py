"""What a generated dataset consists of before it becomes rows. All times are aware and in UTC."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Any

from bench.catalogue import Person, State

START = datetime(2025, 1, 6, tzinfo=UTC)
DAYS = 390  # a history spans thirteen months; tasks stand in its last five
TASKS_FROM_DAY = 240


class Conflict(StrEnum):
    """Why the obvious reading of a history would be wrong for a checkpoint."""

    NONE = ""
    OVERRIDE = "override"  # a state of the same domain overrides a trait
    CROSS = "cross"  # a state of another domain bears on the dimension
    EXPIRED = "expired"  # a state that overrode it is over
    DRIFT = "drift"  # the trait changed
    CONDITIONAL = "conditional"  # it depends on the context


class Tier(StrEnum):
    """How much of a history it takes to settle a preference checkpoint."""

    DIRECT = "direct"  # one event can do it
    COMBINED = "combined"  # each event alone leaves two or more values open, together they leave one
    CONTESTED = "contested"  # two preferences pull apart, and earlier choices show which one gave way


@dataclass(frozen=True)
class Trait:
    """A long-term preference: constant, changing once, or depending on a condition.

    ``ruled_out``: all other values, of a constant preference that no event shows: texts against each of them leave it.
    """

    dimension: str
    value: str
    was: str = ""  # value before the change, "" where it never changed
    changed_on: date | None = None
    when: str = ""  # condition under which ``value_when`` holds instead
    value_when: str = ""
    ruled_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Order:
    """Of two preferences that no thing on offer met at once, ``kept`` won over ``given_up``: records show it."""

    kept: str  # dimensions
    given_up: str
    scenario: str  # "<domain>.<slug>", whose things were chosen

    @property
    def pair(self) -> set[str]:
        return {self.kept, self.given_up}


@dataclass(frozen=True)
class Habit:
    """A regularity and the person's own value of it: euros, a number, minutes after midnight, a weekday from 0."""

    regularity: str
    value: float


@dataclass(frozen=True)
class StatePeriod:
    domain: str
    state: State
    start: date
    end: date  # last day on which it holds

    @property
    def key(self) -> str:
        return f"{self.domain}.{self.state.slug}"

    def holds(self, day: date) -> bool:
        return self.start <= day <= self.end


@dataclass(frozen=True)
class EventSpec:
    occurred_at: datetime
    channel: str
    text: str
    role: str
    dimension: str = ""
    value: str = ""
    group: str = ""
    why: str = ""


@dataclass(frozen=True)
class CheckpointSpec:
    kind: str
    text: str
    rule: dict[str, Any] | None = None
    dimension: str = ""
    value: str = ""
    losing_values: tuple[str, ...] = ()
    conflict: str = ""
    tier: str = ""
    evidence: tuple[int, ...] = ()  # positions in the persona's events
    answer: str = ""  # of a regularity: amount, number, time or weekday
    tolerance: float = 0.0


@dataclass(frozen=True)
class TaskSpec:
    slug: str
    scenario: str  # "<domain>.<slug>"
    request: str
    as_of: datetime
    context: str
    tools: tuple[dict[str, Any], ...]
    world: dict[str, Any]
    checkpoints: tuple[CheckpointSpec, ...]


@dataclass(frozen=True)
class PersonaSpec:
    slug: str
    name: str
    person: Person
    split: str
    domains: tuple[str, ...]
    traits: tuple[Trait, ...]
    states: tuple[StatePeriod, ...]
    events: tuple[EventSpec, ...] = ()
    tasks: tuple[TaskSpec, ...] = field(default=())
    orders: tuple[Order, ...] = ()
    habits: tuple[Habit, ...] = ()

    def trait(self, dimension: str) -> Trait | None:
        return next((trait for trait in self.traits if trait.dimension == dimension), None)

    @cached_property
    def shown(self) -> dict[str, tuple[int, ...]]:
        """Dimension, habit and state ("<domain>.<slug>") -> positions of the events that show it, no distractors."""
        found: dict[str, list[int]] = {}
        for position, event in enumerate(self.events):
            key = event.group if event.role.startswith("state_") else event.dimension
            if key and event.role != "distractor":
                found.setdefault(key, []).append(position)
        return {key: tuple(positions) for key, positions in found.items()}


@dataclass(frozen=True)
class Size:
    """How much to make. ``signal_events`` is a floor: the cues of the traits and states decide."""

    personas: int
    domains: int  # active domains of a persona
    dimensions: int  # active dimensions of a domain
    cues: int  # cues of a plain trait
    states: int
    tasks: int

    @property
    def room(self) -> int:
        """How many of a domain's active dimensions may be in orders: one drifts and one hangs on a condition."""
        return self.dimensions - 2


def size_of(name: str) -> Size:
    """``tiny``, ``starter``, ``full`` or a number of personas. Raises ValueError naming what is allowed."""
    if name == "tiny":
        return Size(personas=3, domains=2, dimensions=5, cues=2, states=2, tasks=4)
    if name == "starter":
        return Size(personas=27, domains=3, dimensions=6, cues=3, states=4, tasks=8)
    if name == "full":
        return Size(personas=400, domains=6, dimensions=7, cues=4, states=5, tasks=17)
    if name.isdigit() and 1 <= int(name) <= 2000:
        return Size(personas=int(name), domains=6, dimensions=7, cues=4, states=5, tasks=8)
    raise ValueError(f"size {name!r} is not known; use tiny, starter, full, or a number of personas from 1 to 2000")


def day_at(day: int, hour: int = 0, minute: int = 0) -> datetime:
    """The moment on the given day of the history, day 0 being its first."""
    return START + timedelta(days=day, hours=hour, minutes=minute)


def day_number(day: date) -> int:
    """Days since the first day of the histories."""
    return (day - START.date()).days
