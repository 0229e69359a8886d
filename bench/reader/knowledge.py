"""What the catalogue says to everybody: how requests are put, and in which words an option can be told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from bench.caching import made_once
from bench.catalogue import Catalogue, Scenario, load_catalogue
from bench.catalogue.schema import Dimension
from bench.catalogue.texts import SLOT
from bench.catalogue.words import content_stems
from bench.generation.moments import unstated_day

_DATE = r"(?:\w+day the \d{1,2}(?:st|nd|rd|th)|\d{4}-\d{2}-\d{2})"
DAY = re.compile(_DATE)

Option = tuple[str, str]  # dimension, value


@dataclass(frozen=True)
class Asked:
    """A request as a person understands it. ``slots``: what it fixes, dates in ISO form; ``words``: as it puts them."""

    reference: str
    scenario: Scenario
    context: str
    slots: Mapping[str, str]
    words: Mapping[str, str]
    day: date

    @property
    def domain(self) -> str:
        return self.reference.split(".")[0]


@made_once()
def catalogue() -> Catalogue:
    return load_catalogue()


@lru_cache(maxsize=20_000)
def understand(line: str, name: str, now: date) -> Asked | None:
    """The request that a line holds, among the scenarios called ``name`` (all where it is ""); None for any other."""
    for reference, scenario, context, pattern in _patterns():
        match = pattern.search(line) if name in ("", scenario.name) else None
        if match is None:
            continue
        words = {slot: text for slot, text in match.groupdict().items() if text is not None}
        days = {slot: named_day(text, now) for slot, text in words.items() if scenario.slots[slot] == "date"}
        slots = words | {slot: day.isoformat() for slot, day in days.items()}
        day = next(iter(days.values()), unstated_day(now, context))
        return Asked(reference, scenario, context, slots, words, day)
    return None


def named_day(text: str, now: date) -> date:
    """ "Friday the 14th" as the next day of that number; an ISO date as it stands."""
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        return date.fromisoformat(text)
    number = int(re.findall(r"\d+", text)[0])
    return next((day for n in range(1, 63) if (day := now + timedelta(days=n)).day == number), now)


@made_once()
def _patterns() -> list[tuple[str, Scenario, str, re.Pattern[str]]]:
    return [
        (f"{domain}.{slug}", scenario, request.context or "", template(request.text, scenario))
        for domain, data in catalogue().domains.items()
        for slug, scenario in data.scenarios.items()
        for request in sorted(scenario.requests, key=lambda request: -len(request.text))
    ]


def template(text: str, scenario: Scenario) -> re.Pattern[str]:
    """A pattern for what the template becomes when its slots are filled; each slot is a group."""
    parts, place, seen = "", 0, set[str]()
    for match in SLOT.finditer(" ".join(text.split())):
        name, choices = match[1], scenario.slots[match[1]]
        values = (
            _DATE
            if choices == "date"
            else "|".join(re.escape(str(c)) for c in sorted(choices, key=lambda c: -len(str(c))))
        )
        parts += re.escape(text[place : match.start()]) + (f"(?P={name})" if name in seen else f"(?P<{name}>{values})")
        place = match.end()
        seen.add(name)
    return re.compile(rf"(?<!\w){parts}{re.escape(text[place:])}(?!\w)")


def own_words(wording: str, scenario: Scenario) -> frozenset[str]:
    """The stems of a text's checkpoint, with slots, that no other checkpoint of its scenario has."""
    preferences = [text for found in scenario.preferences.values() for text in found.values()]
    every = [*scenario.checkpoints, *preferences, *(typed.checkpoint for typed in scenario.regularities.values())]
    return content_stems(wording) - content_stems(" ".join(other for other in every if other != wording))


def sentence(dimension: str, value: str) -> str:
    """What the catalogue says of an option, as the reader writes it and reads it back."""
    found = catalogue().dimension(dimension)
    option = found.value(value)
    return f"{found.name}: {option.label}. {_flat(option.description)}"


@made_once()
def dimensions() -> dict[str, Dimension]:
    return {f"{slug}.{d.slug}": d for slug, data in catalogue().domains.items() for d in data.dimensions.values()}


def wording(scenario: Scenario, dimension: str, value: str) -> str:
    """How the scenario puts a value: its checkpoint, or the option of its tool or of its items."""
    if dimension in scenario.preferences:
        return scenario.preferences[dimension][value]
    decided = [*scenario.decided_parameters.values(), *scenario.decided_fields.values()]
    options = next(one.options for one in decided if one.dimension == dimension)
    return (options or {})[value]


def fill(text: str, words: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)(?::\w+)?\}", lambda match: words.get(match[1], match[0]), text)


def _flat(text: str) -> str:
    return " ".join(text.split())
