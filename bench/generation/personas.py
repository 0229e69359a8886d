"""Who the personas are: a person, active dimensions, traits and states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from math import gcd
from random import Random
from typing import TypeVar

from bench.catalogue import Catalogue, Dimension, Person, Scenario, State, Text, Value
from bench.catalogue.facts import Fact
from bench.catalogue.load import DomainData
from bench.catalogue.schema import tells_the_end
from bench.catalogue.texts import of_split
from bench.generation.habits import draw_habits
from bench.generation.orders import contestable, draw_orders, ordered
from bench.generation.people import draw_person
from bench.generation.spec import DAYS, START, TASKS_FROM_DAY, Order, PersonaSpec, Size, StatePeriod, Trait

MIN_FITTING_CUES = 2
_CONSTANT = 2  # position of a preference that holds all year
TEXTS = 5  # one of so many domains of all personas begins with a text
COMBINED = 1.0  # of the constant preferences that texts can show by ruling the others out
Held = Counter[tuple[str, str, str]]  # split, dimension, value -> personas
Drawn = TypeVar("Drawn")


@dataclass(frozen=True)
class Living:
    """What decides which texts a persona can be given: facts, and the split that it belongs to."""

    facts: frozenset[str]  # that hold all year
    ever: frozenset[str]  # and those that hold at some time of it
    split: str

    def suited(self, texts: Iterable[Text]) -> list[Text]:
        return [text for text in texts if text.presumes <= self.facts and not self._excluded(text.excludes)]

    def open(self, thing: Value | State) -> bool:
        return thing.open_to(self.facts) and not self._excluded(thing.excludes)

    def _excluded(self, facts: Iterable[Fact]) -> bool:
        return any(fact.value in self.ever for fact in facts)


def living(person: Person, split: str) -> Living:
    return Living(frozenset(tag.value for tag in person.tags), person.ever, split)


def make_persona(catalogue: Catalogue, size: Size, index: int, held: Held, taken: set[str], rng: Random) -> PersonaSpec:
    """The persona without events and tasks. ``held`` counts who holds what, so that values spread evenly.

    ``taken`` holds the names that are given away.
    """
    person = draw_person(catalogue, index, taken, rng)
    split = "dev" if index % 3 == 0 else "test"
    domains = _domains(catalogue, size, index)
    own = living(person, split)
    traits, orders = list[Trait](), list[Order]()
    for place, domain in enumerate(domains):
        data = _lived(domain, catalogue.domains[domain], split, (index + place) % TEXTS == 0, size, rng)
        drawn = draw_orders(domain, data, split, size.room, rng)
        within = {dimension for order in drawn for dimension in order.pair}
        for position, dimension in enumerate(ordered(tuple(data.dimensions.values()), drawn, size.dimensions, rng)):
            reference = f"{domain}.{dimension.slug}"
            kind = _CONSTANT if reference in within else position
            trait = _trait(catalogue, domain, dimension, own, kind, held, rng)
            kept = any(order.kept == reference for order in drawn)
            traits.append(replace(trait, ruled_out=()) if kept else trait)
        orders += drawn
    held.update((split, trait.dimension, value) for trait in traits for value in {trait.value, trait.value_when} - {""})
    persona = PersonaSpec(
        slug=person.slug,
        name=person.name,
        person=person,
        split=split,
        domains=domains,
        traits=tuple(traits),
        states=(),
        orders=tuple(orders),
    )
    states = _states(catalogue, size, persona, rng)
    held.update(
        (split, effect.dimension, effect.value)
        for period in states
        for effect in period.state.effects
        if persona.trait(effect.dimension) is not None
    )
    return replace(persona, states=states, habits=draw_habits(catalogue, persona, rng))


def _lived(domain: str, data: DomainData, split: str, texts: bool, size: Size, rng: Random) -> DomainData:
    """The part of a domain that comes up in the persona's year: scenarios as drawn until they fill its dimensions.

    In a large domain preferences drawn from everywhere would leave hardly a scenario with enough of them. The first one
    asks for a text, or two preferences can pull apart in it.
    """
    scenarios, asked = dict[str, Scenario](), set[str]()
    drawn = rng.sample(list(data.scenarios), len(data.scenarios))
    for slug in sorted(drawn, key=lambda slug: not _begins(data.scenarios[slug], domain, split, texts)):
        if len(asked) >= size.dimensions:
            break
        scenarios[slug] = data.scenarios[slug]
        asked |= {d for d in data.scenarios[slug].dimensions if d.startswith(f"{domain}.")}
    dimensions = {slug: one for slug, one in data.dimensions.items() if f"{domain}.{slug}" in asked}
    return replace(data, scenarios=scenarios, dimensions=dimensions)


def _begins(scenario: Scenario, domain: str, split: str, texts: bool) -> bool:
    return scenario.action == "generate" if texts else bool(contestable(scenario, domain, split))


def _domains(catalogue: Catalogue, size: Size, index: int) -> tuple[str, ...]:
    """Rotates, so that every domain gets the same number of personas, in changing company.

    A step that divides the number of domains would give the same domains to several personas of one round.
    """
    slugs = list(catalogue.domains)
    steps = [step for step in range(1, len(slugs)) if gcd(step, len(slugs)) == 1]
    step = steps[(index // len(slugs)) % len(steps)]
    found: list[str] = []
    position = index
    while len(found) < min(size.domains, len(slugs)):
        slug = slugs[position % len(slugs)]
        position += step if slug not in found else 1
        if slug not in found:
            found.append(slug)
    return tuple(found)


def _trait(
    catalogue: Catalogue, domain: str, dimension: Dimension, own: Living, position: int, held: Held, rng: Random
) -> Trait:
    reference = f"{domain}.{dimension.slug}"
    seen = {value.slug: held[own.split, reference, value.slug] for value in dimension.values}
    if position == 0 and dimension.conditions:
        condition = rng.choice(_least(dimension.conditions, lambda c: seen[c.value] + seen[c.otherwise]))
        needs = catalogue.conditions[condition.when].needs
        sides = (dimension.value(slug) for slug in (condition.value, condition.otherwise))
        if all(tag.value in own.facts for tag in needs) and all(own.open(side) for side in sides):
            return Trait(reference, condition.otherwise, when=condition.when, value_when=condition.value)
    open_to = [value.slug for value in dimension.values if _can_show(value, own)]
    if position == 1:
        possible = [
            drift
            for drift in dimension.drifts
            if {drift.source, drift.target} <= set(open_to) and own.suited(dimension.reasons(drift, own.split))
        ]
        if possible:
            drift = rng.choice(_least(possible, lambda d: seen[d.target]))
            day = rng.randint(TASKS_FROM_DAY // 2, TASKS_FROM_DAY)
            changed = (START + timedelta(days=day)).date()
            return Trait(reference, drift.target, was=drift.source, changed_on=changed)
    value = rng.choice(_least(open_to, lambda v: seen[v]))
    others = [other for other in dimension.values if other.slug != value]
    combined = all(_can_be_out(other, own) for other in others) and rng.random() < COMBINED
    return Trait(reference, value, ruled_out=tuple(other.slug for other in others) if combined else ())


def _least(among: Sequence[Drawn], seen: Callable[[Drawn], int]) -> list[Drawn]:
    """Those seen least often, so that each value is the right one as often as every other."""
    fewest = min(map(seen, among))
    return [one for one in among if seen(one) == fewest]


def _can_show(value: Value, own: Living) -> bool:
    """A value whose cues presume what the persona is not (a tenant, a parent) is not theirs to hold."""
    fitting = own.suited(of_split(value.cues, own.split))
    return own.open(value) and len(fitting) >= MIN_FITTING_CUES


def _can_be_out(value: Value, own: Living) -> bool:
    """A text against the value that anybody with these facts might write, in a voice that everybody has."""
    return any(text.voice == "plain" for text in own.suited(of_split(value.against, own.split)))


def _states(catalogue: Catalogue, size: Size, persona: PersonaSpec, rng: Random) -> tuple[StatePeriod, ...]:
    """States that bear on the persona's traits, most of them while tasks are asked; no two on one dimension at once."""
    candidates = [
        (domain, state)
        for domain, data in catalogue.domains.items()
        for state in data.states.values()
        if _bears(state, persona) and _can_live(state, persona)
    ]
    rng.shuffle(candidates)
    # A state from elsewhere comes first in turn, so that every persona meets one.
    candidates.sort(key=lambda pair: pair[0] in persona.domains)
    split = sum(pair[0] not in persona.domains for pair in candidates)
    mixed = [pair for two in zip(candidates[:split], candidates[split:], strict=False) for pair in two]
    mixed += [pair for pair in candidates if pair not in mixed]
    chosen: list[StatePeriod] = []
    for domain, state in mixed:
        if len(chosen) == size.states:
            break
        period = _place(domain, state, chosen, rng)
        if period is not None:
            chosen.append(period)
    return tuple(sorted(chosen, key=lambda period: (period.start, period.key)))


def _bears(state: State, persona: PersonaSpec) -> bool:
    """True where the state changes something that would hold otherwise."""
    traits = {trait.dimension: trait for trait in persona.traits}
    return any(
        effect.dimension in traits and traits[effect.dimension].value != effect.value for effect in state.effects
    )


def _can_live(state: State, persona: PersonaSpec) -> bool:
    """True where the persona can be given a start from which the end can be worked out, and a course."""
    own = living(persona.person, persona.split)
    opening = own.suited(of_split(state.cues.start, own.split))
    dated = any(tells_the_end(text.text) for text in opening)
    return own.open(state) and dated and bool(own.suited(of_split(state.cues.course, own.split)))


def _place(domain: str, state: State, chosen: list[StatePeriod], rng: Random) -> StatePeriod | None:
    length = rng.randint(*state.days)
    for _ in range(20):
        first = rng.randint(TASKS_FROM_DAY, DAYS - length - 5) if DAYS - length - 5 > TASKS_FROM_DAY else TASKS_FROM_DAY
        start = (START + timedelta(days=first)).date()
        period = StatePeriod(domain, state, start, start + timedelta(days=length))
        if not any(_collide(period, other) for other in chosen):
            return period
    return None


def _collide(a: StatePeriod, b: StatePeriod) -> bool:
    shared = {e.dimension for e in a.state.effects} & {e.dimension for e in b.state.effects}
    gap = timedelta(days=7)
    return bool(shared) and a.start - gap <= b.end and b.start - gap <= a.end
