"""Whether a life, as it is stored, contradicts itself: what its texts presume against its facts, place and day."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from typing import Any

from bench.catalogue import Catalogue
from bench.catalogue.schema import FactChange
from bench.generation.placing import APART, doing, kind_days
from bench.generation.validity.gate import Gate, none_of
from bench.generation.validity.recognise import Recogniser, Source, recogniser
from bench.models import Dataset, Event, Persona
from bench.reader.knowledge import catalogue

NAME = "contradictions between facts of one life, place and day"
_SHOWN = 90  # letters of an offending text


@dataclass(frozen=True)
class Written:
    """An event whose authored text is known."""

    at: datetime
    role: str
    words: str
    source: Source

    @property
    def day(self) -> date:
        return self.at.date()

    @property
    def by_state(self) -> bool:
        return self.role.startswith("state_")

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %a} {self.source.text.channel}: {self.words[:_SHOWN]}"


@dataclass(frozen=True)
class LifeFacts:
    country: str
    always: frozenset[str]
    changes: tuple[FactChange, ...]

    def on(self, day: date) -> set[str]:
        passing = (fact for c in self.changes for fact in (c.after if day >= c.on else c.before))
        return {*self.always, *(fact.value for fact in passing)}


def facts_of(background: Mapping[str, Any]) -> LifeFacts:
    """Of a person as they are stored; what an older version did not store is empty."""
    changes = tuple(FactChange.model_validate(change) for change in background.get("changes", ()))
    return LifeFacts(background.get("country", ""), frozenset(background.get("tags", ())), changes)


@dataclass(frozen=True)
class Lasting:
    """What a state or a story forbids from one day to another."""

    name: str
    first: date
    last: date
    bars: frozenset[str]


def contradictions(dataset: Dataset) -> Gate:
    """Events of no text of the present catalogue (another version's, or reworded ones) are not looked at."""
    offenders: list[str] = []
    looked_at = 0
    for persona in Persona.objects.filter(dataset=dataset).order_by("slug") if dataset.source == "generated" else ():
        rows = Event.objects.filter(persona=persona, label__isnull=False).order_by("occurred_at", "position")
        events = list(rows.values_list("occurred_at", "channel", "text", "label__role"))
        written = list(recognised(_recogniser(), events))
        looked_at += len(written)
        states = [
            (one["state"], date.fromisoformat(one["start"]), date.fromisoformat(one["end"])) for one in persona.states
        ]
        facts = facts_of(persona.background)
        offenders += [f"{persona.slug}: {fault}" for fault in faults(catalogue(), facts, states, written)]
    return none_of(NAME, offenders, looked_at)


@cache
def _recogniser() -> Recogniser:
    return recogniser(catalogue())


def recognised(known: Recogniser, events: Iterable[tuple[datetime, str, str, str]]) -> Iterator[Written]:
    """``events``: moment, channel, words and role of each."""
    for at, channel, words, role in events:
        source = known.source(channel, words, regular=role == "regular")
        if source is not None:
            yield Written(at, role, words, source)


def faults(
    catalogue: Catalogue, life: LifeFacts, states: Sequence[tuple[str, date, date]], events: Sequence[Written]
) -> Iterator[str]:
    """``states``: "<domain>.<slug>", first and last day of each; ``events`` in order of time."""
    yield from _against_facts(life, events)
    yield from _on_wrong_days(events)
    lasting = [*_states(catalogue, states), *_stories(events)]
    holidays = {day for country in catalogue.countries if country.slug == life.country for day in country.holidays}
    by_day: dict[date, list[Written]] = defaultdict(list)
    for event in events:
        by_day[event.day].append(event)
    yield from _impossible_days(by_day, lasting, holidays)


def _against_facts(life: LifeFacts, events: Sequence[Written]) -> Iterator[str]:
    """What a text needs and excludes, against what holds on its day and what texts before it have changed."""
    settled: dict[str, bool] = {}
    for event in events:
        holding = life.on(event.day)
        holding = {f for f in holding if settled.get(f, True)} | {f for f, holds in settled.items() if holds}
        for fact in sorted(event.source.needs - holding):
            yield f"{event} (needs {fact})"
        for fact in sorted(event.source.excludes & holding):
            yield f"{event} (excludes {fact})"
        settled |= {fact.value: holds for fact, holds in event.source.text.sets.items()}


def _on_wrong_days(events: Sequence[Written]) -> Iterator[str]:
    for event in events:
        text = event.source.text
        kinds = (text.day,) if isinstance(text.day, str) else text.day
        if not event.by_state and event.at.weekday() not in kind_days(kinds):
            yield f"{event} (stands on {', '.join(kinds)})"
        if not event.by_state and text.months and event.at.month not in text.months:
            yield f"{event} (stands in months {', '.join(map(str, text.months))})"


def _states(catalogue: Catalogue, states: Sequence[tuple[str, date, date]]) -> Iterator[Lasting]:
    for name, first, last in states:
        domain, slug = name.split(".", 1)
        state = catalogue.domains[domain].states.get(slug) if domain in catalogue.domains else None
        if state is not None:
            yield Lasting(name, first, last, frozenset(activity.value for activity in state.bars))


def _stories(events: Sequence[Written]) -> Iterator[Lasting]:
    days: dict[str, list[date]] = defaultdict(list)
    bars: dict[str, frozenset[str]] = {}
    for event in events:
        if event.source.story:
            days[event.source.story].append(event.day)
            bars[event.source.story] = frozenset(activity.value for activity in event.source.bars)
    for story, found in days.items():
        yield Lasting(story, min(found), max(found), bars[story])


def _impossible_days(
    by_day: Mapping[date, Sequence[Written]], lasting: Sequence[Lasting], holidays: set[str]
) -> Iterator[str]:
    """Home and away on one day, work on a holiday or away, and what a state or a story forbids while it lasts."""
    for day, events in sorted(by_day.items()):
        done = {activity: event for event in events for activity in sorted(doing(event.source.text))}
        for pair in APART:
            if pair <= done.keys():
                one, other = (done[activity] for activity in sorted(pair))
                yield f"{one} ({' and '.join(sorted(pair))} on one day, with: {other.words[:_SHOWN]})"
        for event in events:
            did = doing(event.source.text)
            if "works" in did and f"{day:%m-%d}" in holidays and not event.by_state:
                yield f"{event} (works on a holiday)"
            for while_ in lasting:
                if while_.first <= day <= while_.last:
                    yield from (f"{event} ({while_.name} bars {activity})" for activity in sorted(did & while_.bars))
