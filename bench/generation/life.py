"""What one history is made of: the texts that a life may be given, its days, and the names in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random

from bench.catalogue import Person, Text
from bench.catalogue.people import Country
from bench.catalogue.texts import TEXT_SLOT
from bench.generation.filling import Cast, Usual, cast_of, filled
from bench.generation.placing import Days, Deck, Facts, Turn, moment
from bench.generation.spec import DAYS, EventSpec, PersonaSpec, day_at, day_number

Labels = tuple[str, str, str, str]  # dimension, value, group, why
NOTHING: Labels = ("", "", "", "")


@dataclass
class Life:
    deck: Deck
    days: Days
    cast: Cast
    told: set[str] = field(default_factory=set)  # the words of what came back

    @property
    def rng(self) -> Random:
        return self.deck.rng

    def apart(self, rng: Random) -> Life:
        """The same life with another stream of chance, for texts that need not fit the whole year."""
        return replace(self, deck=replace(self.deck, rng=rng, some_day=True))

    def event(self, day: int, text: Text, role: str, labels: Labels = NOTHING, **given: str) -> Iterator[EventSpec]:
        """The text on the nearest day that fits it, or nothing."""
        placed = self.days.place(day, text, labels[2], exactly=role.startswith("state_"))
        if placed is not None:
            yield self.written(placed, fill_named(text.text, given), text, role, labels)

    def again(self, day: int, text: Text, usual: Usual) -> Iterator[EventSpec]:
        """A routine's text on this day, unless it does not fit the day or reads as it did before."""
        if self.days.allows(day, text):
            event = self.written(day, text.text, text, "everyday", usual=usual)
            if event.text not in self.told:
                self.told.add(event.text)
                self.days.take(day, text)
                yield event

    def written(
        self,
        day: int,
        words: str,
        text: Text,
        role: str,
        labels: Labels = NOTHING,
        *,
        usual: Usual | None = None,
        after: datetime | None = None,
    ) -> EventSpec:
        """``words``: the text with what is given filled in; ``after``: what happened before it on that day."""
        at = moment(day, text, self.rng)
        if after is not None and at <= after:
            at = after + timedelta(minutes=self.rng.randint(3, 40))
        # Single spaces, as prompts show them: a text is known again by its letters.
        told = " ".join(filled(words, self.cast, at, self.rng, usual).split())
        dimension, value, group, why = labels
        return EventSpec(at, text.channel.value, told, role, dimension, value, group, why)


def fill_named(text: str, slots: Mapping[str, str]) -> str:
    """The text with each ``{slot}`` that has a filling; any other brace stays as it is."""
    return TEXT_SLOT.sub(lambda match: slots.get(match[1], match[0]), text)


def life_of(persona: PersonaSpec, country: Country, holders: dict[str, list[str]], rng: Random) -> Life:
    person = persona.person
    always = {fact.value for fact in person.tags}
    facts = Facts(always, set(person.ever), turns=turns_of(person))
    voices = {"plain", rng.choice(("terse", "chatty", "formal", "no_caps"))} | always & {"second_language"}
    deck = Deck(facts, persona.split, frozenset(voices), rng, holders, life=persona.slug)
    holidays = frozenset(day for day in range(DAYS) if f"{day_at(day):%m-%d}" in country.holidays)
    return Life(deck, Days(persona.states, holidays, facts.turns), cast_of(person, country, rng))


def turns_of(person: Person) -> tuple[Turn, ...]:
    return tuple(
        Turn(day_number(c.on), frozenset(f.value for f in c.before), frozenset(f.value for f in c.after))
        for c in person.changes
    )
