"""A persona's year as events: cues for what it prefers, and a larger part about nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random

from bench.catalogue import Catalogue, Text
from bench.catalogue.schema import tells_the_end
from bench.catalogue.texts import TEXT_SLOT, of_split
from bench.generation.authors import Author
from bench.generation.personas import day_number
from bench.generation.spec import DAYS, EventSpec, PersonaSpec, Size, StatePeriod, Trait, day_at

_HOURS = {"calendar": (7, 20), "device_log": (0, 23), "watch_log": (17, 23), "bank": (6, 20)}


@dataclass
class _Deck:
    """Hands out texts that fit the persona and its split, none twice."""

    tags: frozenset[str]
    split: str
    rng: Random
    used: set[str]

    def draw(self, texts: Iterable[Text], count: int) -> list[Text]:
        """Up to ``count`` of a list's texts, those that presume something of the persona first among equals."""
        return self.draw_from(of_split(tuple(texts), self.split), count)

    def draw_from(self, texts: Iterable[Text], count: int) -> list[Text]:
        """As ``draw``, from texts that are known to serve the split."""
        fresh = [t for t in texts if t.text not in self.used and t.suits(self.tags)]
        self.rng.shuffle(fresh)
        fresh.sort(key=lambda t: not t.presumes)
        # Half of the draw prefers fitting texts; the rest is plain chance.
        head = fresh[: (count + 1) // 2]
        tail = fresh[len(head) :]
        self.rng.shuffle(tail)
        drawn = (head + tail)[:count]
        self.used.update(t.text for t in drawn)
        return drawn


def make_history(
    catalogue: Catalogue, size: Size, persona: PersonaSpec, noise: float, author: Author, rng: Random
) -> tuple[EventSpec, ...]:
    """Events in order of time. ``noise`` is the share of them that shows no preference of the persona, 0..1."""
    deck = _Deck(frozenset(tag.value for tag in persona.person.tags), persona.split, rng, set())
    signal = [event for trait in persona.traits for event in _trait_events(catalogue, size, trait, deck)]
    signal += [event for period in persona.states for event in _state_events(period, deck)]
    silent = round(len(signal) * noise / (1 - noise))
    # A stream of its own, so that people, cues and tasks are the same whatever the noise.
    apart = replace(deck, rng=Random(rng.random()))  # noqa: S311 (reproducible draws, not secrets)
    events = signal + _noise_events(catalogue, persona, silent, apart)
    worded = [
        EventSpec(
            e.occurred_at, e.channel, author(e.text, persona.person), e.role, e.dimension, e.value, e.group, e.why
        )
        for e in events
    ]
    return tuple(sorted(worded, key=lambda e: (e.occurred_at, e.text)))


def _moment(day: int, channel: str, rng: Random) -> datetime:
    low, high = _HOURS.get(channel, (7, 22))
    return day_at(day, rng.randint(low, high), rng.randint(0, 59))


def _spread(texts: Sequence[Text], first: int, last: int, rng: Random) -> list[tuple[int, Text]]:
    """One day for each text, one in each of as many equal stretches as there are texts."""
    width = max(1, last - first) / max(1, len(texts))
    return [(first + int(width * i + rng.random() * width), text) for i, text in enumerate(texts)]


def _trait_events(catalogue: Catalogue, size: Size, trait: Trait, deck: _Deck) -> list[EventSpec]:
    dimension = catalogue.dimension(trait.dimension)
    rng = deck.rng
    if trait.when:
        condition = next(c for c in dimension.conditions if c.when == trait.when and c.value == trait.value_when)
        sides = [(condition.cues.when, trait.value_when, trait.when)]
        sides += [(condition.cues.otherwise, trait.value, f"not {trait.when}")]
        return [
            _event(day, text, "condition", trait.dimension, value, group, rng)
            for cues, value, group in sides
            for day, text in _spread(deck.draw(cues, size.cues), 5, DAYS - 40, rng)
        ]
    if trait.changed_on is not None:
        turn = day_number(trait.changed_on)
        drift = next(d for d in dimension.drifts if (d.source, d.target) == (trait.was, trait.value))
        before = _spread(deck.draw(dimension.value(trait.was).cues, size.cues), 5, turn - 5, rng)
        after = _spread(deck.draw(dimension.value(trait.value).cues, size.cues), turn + 3, DAYS - 40, rng)
        events = [_event(day, text, "cue", trait.dimension, trait.was, "", rng) for day, text in before]
        events += [_event(day, text, "cue", trait.dimension, trait.value, "", rng) for day, text in after]
        reason = deck.draw_from(dimension.reasons(drift, deck.split), 1)[0]
        return [*events, _event(turn, reason, "drift", trait.dimension, trait.value, "", rng)]
    cues = deck.draw(dimension.value(trait.value).cues, size.cues + 1)
    return [
        _event(day, text, "cue", trait.dimension, trait.value, "", rng)
        for day, text in _spread(cues, 5, DAYS - 40, rng)
    ]


def _event(day: int, text: Text, role: str, dimension: str, value: str, group: str, rng: Random) -> EventSpec:
    settled = settle(day, text.text, group)
    return EventSpec(_moment(settled, text.channel, rng), text.channel.value, text.text, role, dimension, value, group)


_WEEKDAYS = {name: number for number, name in enumerate(("mon", "tue", "wed", "thu", "fri", "sat", "sun"))}
_WEEKDAY = re.compile(r"\b(mon|tue|wed|thu|fri|sat|sun)(?:s?day|nesday|rsday|urday)?\b", re.IGNORECASE)


def settle(day: int, text: str, group: str = "") -> int:
    """The nearest later day that fits the text: the weekday it names, a weekend where its condition says so."""
    named = {_WEEKDAYS[match.lower()] for match in _WEEKDAY.findall(text)}
    fitting = named if len(named) == 1 else set(range(7))
    if group == "at_weekend":
        fitting = fitting & {5, 6} or {5, 6}
    elif group == "not at_weekend":
        fitting = fitting - {5, 6} or {0, 1, 2, 3, 4}
    return next(d for d in range(day, day + 7) if day_at(d).weekday() in fitting)


def ordinal(day: int) -> str:
    """14 -> "14th"."""
    suffix = "th" if 10 <= day % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{suffix}"


def _state_events(period: StatePeriod, deck: _Deck) -> list[EventSpec]:
    cues, rng = period.state.cues, deck.rng
    length = (period.end - period.start).days
    slots = {
        "end_day": ordinal(period.end.day),
        "end_date": f"{period.end.day} {period.end:%B}",
        "end_weekday": f"{period.end:%A}",
        "days": str(length),
    }
    opening = of_split(cues.start, deck.split)
    start = deck.draw_from([text for text in opening if tells_the_end(text.text)], 1)
    start += deck.draw_from(opening, 1)
    first = day_number(period.start)
    placed = [(first, text, "state_start") for text in start]
    course = deck.draw(cues.course, 2)
    placed += [(day, text, "state_course") for day, text in _spread(course, first + 1, first + max(2, length - 1), rng)]
    placed += [(first + length + 1, text, "state_end") for text in deck.draw(cues.end, 1)]
    return [
        EventSpec(
            _moment(day, text.channel, rng) if role != "state_start" else day_at(day, 6 + n, rng.randint(0, 59)),
            text.channel.value,
            fill_named(text.text, slots),
            role,
            group=period.key,
        )
        for n, (day, text, role) in enumerate(placed)
    ]


def fill_named(text: str, slots: Mapping[str, str]) -> str:
    """The text with each ``{slot}`` that has a filling; any other brace stays as it is."""
    return TEXT_SLOT.sub(lambda match: slots.get(match[1], match[0]), text)


def _noise_events(catalogue: Catalogue, persona: PersonaSpec, count: int, deck: _Deck) -> list[EventSpec]:
    """A quarter distractors that look like cues, the rest everyday texts."""
    rng = deck.rng
    distractors = [
        (f"{domain}.{dimension.slug}", distractor)
        for domain in persona.domains
        for dimension in catalogue.domains[domain].dimensions.values()
        for distractor in of_split(dimension.distractors, persona.split)
        if not _agrees(persona.trait(f"{domain}.{dimension.slug}"), distractor.looks_like)
    ]
    by_text = {distractor.text: (reference, distractor) for reference, distractor in distractors}
    drawn = deck.draw_from([distractor for _, distractor in distractors], count // 4)
    events = []
    for text in drawn:
        reference, distractor = by_text[text.text]
        events.append(
            EventSpec(
                _moment(rng.randint(2, DAYS - 2), text.channel, rng),
                text.channel.value,
                text.text,
                "distractor",
                reference,
                distractor.looks_like,
                distractor.kind.value,
                distractor.why,
            )
        )
    by_domain = {slug: of_split(data.everyday, persona.split) for slug, data in catalogue.domains.items()}
    own = [text for domain in persona.domains for text in by_domain[domain]]
    everyday = deck.draw_from([*own, *of_split(catalogue.everyday, persona.split)], count - len(events))
    if len(everyday) < count - len(events):
        others = [text for slug, texts in by_domain.items() if slug not in persona.domains for text in texts]
        everyday += deck.draw_from(others, count - len(events) - len(everyday))
    events += [
        EventSpec(_moment(rng.randint(1, DAYS - 1), text.channel, rng), text.channel.value, text.text, "everyday")
        for text in everyday
    ]
    return events


def _agrees(trait: Trait | None, value: str) -> bool:
    """A distractor that looks like what holds anyway would not mislead anybody."""
    return trait is not None and value in {trait.value, trait.value_when}
