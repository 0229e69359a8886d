"""Which of two preferences gives way where nothing on offer meets both: the persona's order, and records of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from random import Random

from bench.catalogue import Catalogue, Dimension, Scenario
from bench.catalogue.load import DomainData
from bench.catalogue.texts import ChoiceRecord, of_split
from bench.generation.spec import Order, PersonaSpec, Trait

RECORDS = 2  # that show an order: one alone could have been the other preference's doing


def draw_orders(domain: str, data: DomainData, split: str, room: int, rng: Random) -> tuple[Order, ...]:
    """One order for every two item fields of a scenario that has records, over at most ``room`` dimensions; no cycles.

    Which of two dimensions is kept is drawn, so that both directions are equally frequent.
    """
    ranks = {slug: rng.random() for slug in data.dimensions}
    orders: list[Order] = []
    for slug, scenario in data.scenarios.items():
        possible = contestable(scenario, domain, split)
        taken = {dimension for order in orders if order.pair in map(set, possible) for dimension in order.pair}
        while pairs := [
            pair
            for pair in possible
            if not taken & set(pair) and len(set(pair).union(*(order.pair for order in orders))) <= room
        ]:
            kept, given_up = sorted(rng.choice(pairs), key=lambda dimension: ranks[dimension.split(".")[1]])
            orders.append(Order(kept, given_up, f"{domain}.{slug}"))
            taken |= {kept, given_up}
    return tuple(orders)


def contestable(scenario: Scenario, domain: str, split: str) -> list[tuple[str, str]]:
    """Pairs of the domain's dimensions that decide fields of the items, with equally many options."""
    records = scenario.items.record if scenario.items else ()
    if len(of_split(records, split)) < RECORDS:
        return []
    fields = {f.dimension: len(f.options or {}) for f in scenario.decided_fields.values() if f.dimension}
    own = [dimension for dimension in fields if dimension.startswith(f"{domain}.")]
    return [(a, b) for a, b in combinations(own, 2) if fields[a] == fields[b]]


def ordered(dimensions: Iterable[Dimension], orders: Iterable[Order], size: int, rng: Random) -> list[Dimension]:
    """``size`` of a domain's dimensions: those of the orders, the others before them, conditional ones first."""
    within = {reference.split(".")[1] for order in orders for reference in order.pair}
    others = [dimension for dimension in dimensions if dimension.slug not in within]
    rng.shuffle(others)
    chosen = sorted(others[: max(0, size - len(within))], key=lambda dimension: not dimension.conditions)
    return [*chosen, *(dimension for dimension in dimensions if dimension.slug in within)]


def choices(catalogue: Catalogue, order: Order, traits: Mapping[str, Trait], rng: Random) -> Iterator[dict[str, str]]:
    """What the records of an order name: each time what was kept is the same, and what it was kept from is another.

    Options stand in the order of the scenario's fields, so their places tell nothing.
    """
    options = _options(catalogue.scenario(order.scenario), order.pair)
    others = {d: [v for v in found if v != traits[d].value] for d, found in options.items()}
    for values in others.values():
        rng.shuffle(values)
    for n in range(RECORDS):
        held = {d: traits[d].value for d in options}
        rival = {d: values[n % len(values)] for d, values in others.items()}
        chosen = [options[d][held[d] if d == order.kept else rival[d]] for d in options]
        passed = [options[d][rival[d] if d == order.kept else held[d]] for d in options]
        yield {"chosen": "; ".join(chosen), "passed": "; ".join(passed)}


def orders_without_stake(catalogue: Catalogue, persona: PersonaSpec, room: int, rng: Random) -> list[Order]:
    """Orders that somebody else might have, as frequent as they are drawn, of pairs of which the persona holds nothing.

    Whatever a record of them names tells nothing; records that named only what somebody does not hold would leave what
    they do hold by exclusion.
    """
    drawn = (
        order
        for domain, data in catalogue.domains.items()
        for order in draw_orders(domain, data, persona.split, room, rng)
    )
    found = [order for order in drawn if not any(_is_held(persona, dimension) for dimension in order.pair)]
    rng.shuffle(found)
    return found


def beside_the_point(
    scenario: Scenario, pair: set[str], split: str, rng: Random
) -> tuple[ChoiceRecord, dict[str, str]]:
    """A record about the ``pair``, with any two options of each."""
    options = _options(scenario, pair)
    drawn = {d: rng.sample(list(found), 2) for d, found in options.items()}
    sides = ("; ".join(options[d][drawn[d][side]] for d in options) for side in (0, 1))
    texts = of_split(scenario.items.record if scenario.items else (), split)
    return rng.choice(texts), dict(zip(("chosen", "passed"), sides, strict=True))


def _options(scenario: Scenario, pair: set[str]) -> dict[str, Mapping[str, str]]:
    """Dimension -> value -> option, of the two in the order of the scenario's fields."""
    return {f.dimension: f.options or {} for f in scenario.decided_fields.values() if f.dimension in pair}


def _is_held(persona: PersonaSpec, dimension: str) -> bool:
    """Whether a preference or a state of the persona says anything of the dimension."""
    states = (effect.dimension for period in persona.states for effect in period.state.effects)
    return persona.trait(dimension) is not None or dimension in states
