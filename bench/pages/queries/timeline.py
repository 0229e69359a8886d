"""A history at one look: what was written when, in which channel; when tasks were asked; with gold, what changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from bench.models import Event, Persona

WIDTH = 1000  # of a drawing, in units of its own; the page stretches it
MONTHS_AT_MOST = 18  # a longer history is marked by years


@dataclass(frozen=True, slots=True)
class Mark:
    """A month or a year on the axis. ``when`` is what its link asks for: "2025-03" or "2025"."""

    label: str
    short: str  # where there is little room
    when: str
    percent: float


@dataclass(frozen=True, slots=True)
class Row:
    """A line of ticks; ``path`` is SVG in ``WIDTH`` units by 10."""

    name: str
    count: int
    path: str


@dataclass(frozen=True, slots=True)
class Span:
    """Something that held from one day to another (both within the history's days)."""

    name: str
    start: date
    end: date
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Change:
    """A preference that became another one on a day."""

    dimension: str
    was: str
    value: str
    on: date
    x: float


@dataclass(frozen=True, slots=True)
class Turn:
    """A day on which a person's circumstances changed; ``before`` and ``after`` are facts that hold only then."""

    what: str
    on: date
    x: float
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    title: str  # "2025", "2024 to 2025"
    marks: tuple[Mark, ...]
    grid: str  # where they stand, as a path
    channels: tuple[Row, ...]  # the fullest first
    tasks: Row
    turns: tuple[Turn, ...]
    states: tuple[Span, ...]  # gold; empty for those who may not see it
    changes: tuple[Change, ...]  # gold


@dataclass(frozen=True, slots=True)
class _Axis:
    first: datetime
    seconds: float

    def x(self, moment: datetime) -> float:
        share = (moment - self.first).total_seconds() / self.seconds
        return round(WIDTH * min(1.0, max(0.0, share)), 1)

    def ticks(self, name: str, moments: Iterable[datetime]) -> Row:
        places = [self.x(moment) for moment in moments]
        path = "".join(f"M{place:g} 0V10" for place in sorted(set(places)))
        return Row(name, len(places), path)


def timeline(persona: Persona, *, gold: bool) -> Timeline | None:
    """None without an event. Moments are UTC; the axis begins and ends with whole months."""
    by_channel: dict[str, list[datetime]] = defaultdict(list)
    for channel, moment in Event.objects.filter(persona=persona).order_by().values_list("channel", "occurred_at"):
        by_channel[channel].append(moment.astimezone(UTC))
    if not by_channel:
        return None
    asked = [moment.astimezone(UTC) for moment in persona.tasks.order_by().values_list("as_of", flat=True)]
    moments = [*asked, *(moment for found in by_channel.values() for moment in found)]
    axis = _axis(min(moments), max(moments))
    rows = [axis.ticks(channel, found) for channel, found in by_channel.items()]
    first, last = min(moments).year, max(moments).year
    marks = _marks(axis, max(moments))
    return Timeline(
        title=str(first) if first == last else f"{first} to {last}",
        marks=marks,
        grid="".join(f"M{mark.percent * WIDTH / 100:g} 0V10" for mark in marks),
        channels=tuple(sorted(rows, key=lambda row: (-row.count, row.name))),
        tasks=axis.ticks("tasks asked", asked),
        turns=_turns(axis, persona),
        states=_states(axis, persona) if gold else (),
        changes=_changes(axis, persona) if gold else (),
    )


def _axis(first: datetime, last: datetime) -> _Axis:
    start, end = _month_of(first), _next_month(_month_of(last))
    return _Axis(start, (end - start).total_seconds())


def _month_of(moment: datetime) -> datetime:
    return moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def _next_month(month: datetime) -> datetime:
    return _month_of(month + timedelta(days=32))


def _marks(axis: _Axis, last: datetime) -> tuple[Mark, ...]:
    months = [axis.first]
    while _next_month(months[-1]) <= last:
        months.append(_next_month(months[-1]))
    if len(months) <= MONTHS_AT_MOST:
        return tuple(
            Mark(f"{month:%b}", f"{month:%b}"[0], f"{month:%Y-%m}", axis.x(month) * 100 / WIDTH) for month in months
        )
    years = [month for month in months if month.month == 1 or month is months[0]]
    return tuple(Mark(f"{year:%Y}", f"{year:%y}", f"{year:%Y}", axis.x(year) * 100 / WIDTH) for year in years)


def _states(axis: _Axis, persona: Persona) -> tuple[Span, ...]:
    found = []
    for state in persona.states:
        start, end = date.fromisoformat(state["start"]), date.fromisoformat(state["end"])
        x, until = axis.x(_midnight(start)), axis.x(_midnight(end + timedelta(days=1)))
        found.append(Span(state["state"], start, end, x, round(until - x, 1)))
    return tuple(sorted(found, key=lambda span: (span.start, span.name)))


def _turns(axis: _Axis, persona: Persona) -> tuple[Turn, ...]:
    found = []
    for change in persona.background.get("changes", ()):
        on = date.fromisoformat(change["on"])
        before, after = (tuple(change[side]) for side in ("before", "after"))
        found.append(Turn(change["what"], on, axis.x(_midnight(on)), before, after))
    return tuple(sorted(found, key=lambda turn: (turn.on, turn.what)))


def _changes(axis: _Axis, persona: Persona) -> tuple[Change, ...]:
    changed = [trait for trait in persona.traits if trait.get("changed_on")]
    found = [
        Change(trait["dimension"], trait["was"], trait["value"], day, axis.x(_midnight(day)))
        for trait in changed
        for day in [date.fromisoformat(trait["changed_on"])]
    ]
    return tuple(sorted(found, key=lambda change: (change.on, change.dimension)))


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, tzinfo=UTC)
