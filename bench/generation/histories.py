"""A persona's year as events: cues for what it prefers, and a larger part about nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random

from bench.catalogue import Catalogue, Dimension, Scenario, Text
from bench.catalogue.facts import Fact
from bench.catalogue.schema import Distractor, StateCues, tells_the_end
from bench.catalogue.texts import of_split
from bench.generation.everyday import apportioned, everyday_events
from bench.generation.life import Labels, Life, life_of
from bench.generation.orders import RECORDS, beside_the_point, choices, orders_without_stake
from bench.generation.placing import Deck
from bench.generation.recurring import contrast_events, habit_events
from bench.generation.spec import (
    DAYS,
    TASKS_FROM_DAY,
    EventSpec,
    Order,
    PersonaSpec,
    Size,
    StatePeriod,
    Trait,
    day_number,
)

FIRST_RECORD = 5  # day; the last one stands before the first task
TRIES = 8  # rounds of draws for records that show nothing, since two of the same choice would be one too many


def make_history(
    catalogue: Catalogue,
    size: Size,
    persona: PersonaSpec,
    noise: float,
    holders: dict[str, list[str]],
    rng: Random,
) -> tuple[EventSpec, ...]:
    """Events in order of time. ``noise`` is the share of them that shows no preference of the persona, 0..1.

    ``holders``: see Deck; what this life is given is added.
    """
    country = next(c for c in catalogue.countries if c.slug == persona.person.country)
    life = life_of(persona, country, holders, rng)
    life.deck.facts.lean_on(_leant_on(catalogue, persona))
    signal = [event for period in persona.states for event in _state_events(period, life)]
    # What changes may end a fact, so it comes before texts that lean on one.
    traits = sorted(persona.traits, key=lambda trait: trait.changed_on is None)
    signal += [event for trait in traits for event in _trait_events(catalogue, size, trait, life)]
    signal += [event for order in persona.orders for event in _records(catalogue, persona, order, life)]
    signal += [event for habit in persona.habits for event in habit_events(catalogue, habit, life)]
    # A stream of its own, so that people, cues and tasks are the same whatever the noise.
    apart = life.apart(Random(rng.random()))  # noqa: S311 (reproducible draws, not secrets)
    events = signal + _noise_events(catalogue, size, persona, signal, noise, apart)
    return tuple(sorted(events, key=lambda e: (e.occurred_at, e.text)))


def _leant_on(catalogue: Catalogue, persona: PersonaSpec) -> Iterator[Fact]:
    """Facts without which the persona could not have its states and hold its preferences."""
    for period in persona.states:
        yield from (*period.state.needs, *period.state.excludes)
    for trait in persona.traits:
        for value in {trait.value, trait.value_when, trait.was} - {""}:
            held = catalogue.dimension(trait.dimension).value(value)
            yield from (*held.needs, *held.excludes)


def _spread(texts: Sequence[Text], first: int, last: int, rng: Random) -> list[tuple[int, Text]]:
    """One day for each text, one in each of as many equal stretches as there are texts."""
    width = max(1, last - first) / max(1, len(texts))
    return [(first + int(width * i + rng.random() * width), text) for i, text in enumerate(texts)]


def _trait_events(catalogue: Catalogue, size: Size, trait: Trait, life: Life) -> Iterator[EventSpec]:
    dimension, deck, rng = catalogue.dimension(trait.dimension), life.deck, life.rng
    first, last = 5, DAYS - 40
    if trait.when:
        condition = next(c for c in dimension.conditions if c.when == trait.when and c.value == trait.value_when)
        sides = [(condition.cues.when, trait.value_when, trait.when)]
        sides += [(condition.cues.otherwise, trait.value, f"not {trait.when}")]
        for cues, value, group in sides:
            for day, text in _spread(deck.draw(cues, size.cues), first, last, rng):
                yield from life.event(day, text, "condition", (trait.dimension, value, group, ""))
        return
    if trait.ruled_out:
        yield from _exclusions(dimension, trait, life, first, last)
        return
    stretches = [(trait.value, size.cues + 1, first, last)]
    if trait.changed_on is not None:
        turn = day_number(trait.changed_on)
        drift = next(d for d in dimension.drifts if (d.source, d.target) == (trait.was, trait.value))
        for reason in deck.draw_from(dimension.reasons(drift, deck.split), 1):
            yield from life.event(turn, reason, "drift", (trait.dimension, trait.value, "", ""))
        stretches = [(trait.was, size.cues, first, turn - 8), (trait.value, size.cues, turn + 3, last)]
    for value, count, start, end in stretches:
        for day, text in _spread(deck.draw(dimension.value(value).cues, count), start, end, rng):
            yield from life.event(day, text, "cue", (trait.dimension, value, "", ""))


def _exclusions(dimension: Dimension, trait: Trait, life: Life, first: int, last: int) -> Iterator[EventSpec]:
    """One or two texts against each value that is out, one of them before the first task. Nothing shows what holds."""
    for value in trait.ruled_out:
        texts = life.deck.draw(dimension.value(value).against, life.rng.randint(1, 2))
        for text, end in zip(texts, (TASKS_FROM_DAY, last), strict=False):
            labels = (trait.dimension, value, "", "")
            yield from life.event(life.rng.randint(first, end), text, "against", labels)


def _records(catalogue: Catalogue, persona: PersonaSpec, order: Order, life: Life) -> Iterator[EventSpec]:
    """Records of earlier choices, all before the first task."""
    scenario = catalogue.scenario(order.scenario)
    traits = {trait.dimension: trait for trait in persona.traits}
    texts = life.rng.sample(of_split(scenario.items.record if scenario.items else (), persona.split), RECORDS)
    spread = _spread(texts, FIRST_RECORD, TASKS_FROM_DAY, life.rng)
    labels = (order.kept, traits[order.kept].value, order.given_up, "")
    for (day, text), named in zip(spread, choices(catalogue, order, traits, life.rng), strict=True):
        yield from _recorded(scenario, day, text, named, life, labels)


def _idle_records(catalogue: Catalogue, size: Size, persona: PersonaSpec, count: int, life: Life) -> list[EventSpec]:
    """Up to ``count`` records of the same look on the same days, of choices in which the persona holds nothing."""
    events: list[EventSpec] = []
    named_before: set[tuple[str, str]] = set()
    for _ in range(TRIES):
        # As often of one scenario and pair as of another as records that show something are.
        for order in orders_without_stake(catalogue, persona, size.room, life.rng):
            scenario = catalogue.scenario(order.scenario)
            text, named = beside_the_point(scenario, set(order.pair), persona.split, life.rng)
            day, sides = life.rng.randint(FIRST_RECORD, TASKS_FROM_DAY), (named["chosen"], named["passed"])
            if len(events) < count and sides not in named_before:
                named_before.add(sides)
                events += _recorded(scenario, day, text, named, life)
    return events


def _recorded(
    scenario: Scenario,
    day: int,
    text: Text,
    named: Mapping[str, str],
    life: Life,
    labels: Labels | None = None,
) -> Iterator[EventSpec]:
    noun = scenario.items.noun if scenario.items else ""
    role = "everyday" if labels is None else "record"
    yield from life.event(day, text, role, labels or ("", "", "", ""), noun=noun, **named)


def ordinal(day: int) -> str:
    """14 -> "14th"."""
    suffix = "th" if 10 <= day % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{suffix}"


def _state_events(period: StatePeriod, life: Life) -> list[EventSpec]:
    deck, rng = life.deck, life.rng
    cues = _one_telling(period.state.cues, deck)
    length = (period.end - period.start).days
    slots = {
        "end_day": ordinal(period.end.day),
        "end_date": f"{period.end.day} {period.end:%B}",
        "end_weekday": f"{period.end:%A}",
        "days": str(length),
    }
    opening = cues.start
    start = deck.draw_from([text for text in opening if tells_the_end(text.text)], 1)
    start += deck.draw_from(opening, 1)
    first = day_number(period.start)
    placed = [(first, text, "state_start") for text in start]
    course = deck.draw_from(cues.course, 2)
    placed += [(day, text, "state_course") for day, text in _spread(course, first + 1, first + max(2, length - 1), rng)]
    placed += [(first + length + 1, text, "state_end") for text in deck.draw_from(cues.end, 1)]
    return [
        event for day, text, role in placed for event in life.event(day, text, role, ("", "", period.key, ""), **slots)
    ]


def _one_telling(cues: StateCues, deck: Deck) -> StateCues:
    """The split's texts of one variant, in which a sprained foot does not become a broken hand."""
    lists = {name: of_split(getattr(cues, name), deck.split) for name in ("start", "course", "end")}
    dated = [text for text in lists["start"] if tells_the_end(text.text)]
    variants = sorted({text.variant or "" for text in dated or lists["start"]})
    chosen = deck.rng.choice(variants)
    told = {name: tuple(t for t in texts if t.variant in (None, chosen)) for name, texts in lists.items()}
    return cues.model_copy(update=told)


def _noise_events(
    catalogue: Catalogue, size: Size, persona: PersonaSpec, signal: Sequence[EventSpec], noise: float, life: Life
) -> list[EventSpec]:
    """A quarter distractors that look like cues, records that look like those of choices and of habits, and the rest.

    Together they stand in the channels of the signal.
    """
    count = round(len(signal) * noise / (1 - noise))
    roles = Counter(event.role for event in signal)
    idle, alike = (round(roles[role] * noise / (1 - noise)) for role in ("record", "regular"))
    events: list[EventSpec] = []
    for distractor, labels in _distractors(catalogue, persona, count // 4, life.deck):
        events += life.event(life.rng.randint(2, DAYS - 2), distractor, "distractor", labels)
    events += _idle_records(catalogue, size, persona, idle, life)
    events += contrast_events(catalogue, persona, alike, life)
    taken = Counter(event.channel for event in events)
    wanted = apportioned(count, Counter(event.channel for event in signal))
    open_ = {channel: max(0, wanted[channel] - taken[channel]) for channel in wanted}
    return events + everyday_events(catalogue, persona, apportioned(count - len(events), open_), life)


def _distractors(catalogue: Catalogue, persona: PersonaSpec, count: int, deck: Deck) -> list[tuple[Distractor, Labels]]:
    """Up to ``count`` with their labels, of all values alike whatever the persona holds, so counting them says nothing.

    In rounds over dimensions and the values that they look like, so that no value comes twice before each came once.
    """
    groups: dict[tuple[str, str], list[Distractor]] = {}
    for domain in persona.domains:
        for dimension in catalogue.domains[domain].dimensions.values():
            for distractor in of_split(dimension.distractors, persona.split):
                groups.setdefault((f"{domain}.{dimension.slug}", distractor.looks_like), []).append(distractor)
    found: list[tuple[Distractor, Labels]] = []
    waiting = list(groups.items())
    while waiting and len(found) < count:
        deck.rng.shuffle(waiting)
        before, waiting = waiting, []
        for group in before:
            drawn = deck.draw_from(group[1], 1) if len(found) < count else []
            found += [(one, (*group[0], one.kind.value, one.why)) for one in drawn]
            waiting += [group] if drawn else []
    return found
