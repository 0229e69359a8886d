"""What a person wants at a moment, on a day, in a context. Gold and the simulated reader share these rules.

``choose`` decides from a life, whoever describes it; ``resolve`` takes the persona's own life and adds the events
that show it; ``life_shown`` reads a life back out of events, however few of them somebody has seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from bench.catalogue import Catalogue
from bench.generation.spec import Conflict, EventSpec, Order, PersonaSpec, StatePeriod, Tier, Trait

NOT = "not "  # before a condition: where it does not hold


@dataclass(frozen=True)
class Choice:
    """``group`` names the events behind the value: a state, a side of a condition, "" for a plain trait."""

    value: str
    group: str
    losing: tuple[str, ...]
    conflict: Conflict


@dataclass(frozen=True)
class Resolved:
    value: str
    evidence: tuple[int, ...]  # positions in the persona's events, all before the as-of time
    losing: tuple[str, ...]
    conflict: Conflict
    tier: Tier = Tier.DIRECT


@dataclass(frozen=True)
class Shown:
    """What one event shows to whoever understands it: of role "against" that ``value`` is out.

    ``until``: the last day of a state, where the text names it.
    """

    on: date
    role: str
    dimension: str
    value: str
    group: str
    until: date | None = None


def choose(
    trait: Trait | None, states: Sequence[StatePeriod], dimension: str, *, today: date, day: date, context: str
) -> Choice | None:
    """A state that is on today and still on ``day`` comes first, then the trait; None where neither is known."""
    period = next((p for p in states if p.start < today and p.holds(day) and _effect(p, dimension)), None)
    if period is not None:
        return _by_state(period, dimension, trait)
    if trait is None:
        return None
    choice = _by_trait(trait, today, context)
    if choice.conflict is Conflict.NONE:
        over = [_effect(p, dimension) for p in states if p.end < today]
        expired = tuple(value for value in over if value and value != choice.value)[:1]
        return Choice(choice.value, "", expired, Conflict.EXPIRED if expired else Conflict.NONE)
    return choice


def resolve(persona: PersonaSpec, dimension: str, *, as_of: datetime, day: date, context: str) -> Resolved | None:
    """What holds on ``day`` as far as the history up to ``as_of`` shows it; None where it shows nothing.

    Without evidence it is what a state asks for that holds anyway.
    """
    choice = choose(
        persona.trait(dimension), persona.states, dimension, today=as_of.date(), day=day, context=context
    )  # fmt: skip
    if choice is None:
        return None
    by_state = choice.conflict in (Conflict.OVERRIDE, Conflict.CROSS)
    trait = persona.trait(dimension)
    if by_state and trait is not None:
        otherwise = choose(trait, (), dimension, today=as_of.date(), day=day, context=context)
        if otherwise is not None and otherwise.value == choice.value:
            # Two roads lead there, so no events are the ones that settle it: it holds, and cannot be checked.
            return Resolved(choice.value, (), choice.losing, choice.conflict)
    if trait is not None and trait.ruled_out and not by_state:
        return _by_exclusion(persona, trait, choice, as_of)
    found = persona.shown.get(choice.group if by_state else dimension, ())
    evidence = tuple(
        i
        for i in found
        if persona.events[i].occurred_at < as_of
        and (by_state or _shows(persona.events[i], dimension, choice.value, choice.group))
    )
    # A change needs the event that says so and one that bears it out.
    enough = len(evidence) > (1 if choice.conflict is Conflict.DRIFT else 0)
    return Resolved(choice.value, evidence, choice.losing, choice.conflict) if enough or by_state else None


def _by_exclusion(persona: PersonaSpec, trait: Trait, choice: Choice, as_of: datetime) -> Resolved | None:
    """What is left once each of the other values was seen to be out."""
    before = [i for i in persona.shown.get(trait.dimension, ()) if persona.events[i].occurred_at < as_of]
    against = tuple(i for i in before if persona.events[i].role == "against")
    if {persona.events[i].value for i in against} != set(trait.ruled_out):
        return None
    return Resolved(choice.value, against, choice.losing, choice.conflict, Tier.COMBINED)


def records_of(persona: PersonaSpec, order: Order, as_of: datetime) -> tuple[int, ...]:
    """Positions of the records before ``as_of`` that show the order."""
    return tuple(
        i
        for i in persona.shown.get(order.kept, ())
        if (event := persona.events[i]).role == "record" and event.group == order.given_up and event.occurred_at < as_of
    )


def contest(persona: PersonaSpec, order: Order, found: Mapping[str, Resolved], as_of: datetime) -> Resolved:
    """What is kept where the two cannot both be met: the gold shows both preferences, and which gave way."""
    kept, given_up = found[order.kept], found[order.given_up]
    evidence = {*kept.evidence, *given_up.evidence, *records_of(persona, order, as_of)}
    return replace(kept, evidence=tuple(sorted(evidence)), tier=Tier.CONTESTED)


def life_shown(
    shown: Iterable[Shown], dimension: str, catalogue: Catalogue
) -> tuple[Trait | None, tuple[StatePeriod, ...]]:
    """The trait and the states that events show for one dimension.

    Of rival cues the latest counts; without any cue holds what is left where every other value is out.
    """
    events = sorted(shown, key=lambda event: event.on)
    cues = [event for event in events if event.dimension == dimension and event.role in ("cue", "drift")]
    sides = [event for event in events if event.dimension == dimension and event.role == "condition"]
    groups: dict[str, list[Shown]] = {e.group: [] for e in events if e.role.startswith("state_")}
    for event in events:
        if event.group in groups:
            groups[event.group].append(event)
    states = [_period(group, found, catalogue) for group, found in groups.items()]
    bearing = sorted((p for p in states if p and _effect(p, dimension)), key=lambda p: (p.start, p.key))
    trait = _conditional(dimension, sides) or _plain(dimension, cues) or _left(dimension, events, catalogue)
    return trait, tuple(bearing)


def _plain(dimension: str, cues: Sequence[Shown]) -> Trait | None:
    """A trait that held all along, or changed once where the events differ."""
    if not cues:
        return None
    value = cues[-1].value
    before = [event for event in cues if event.value != value]
    if not before:
        return Trait(dimension, value)
    first = next(event for event in cues if event.value == value and event.on >= before[-1].on)
    return Trait(dimension, value, was=before[-1].value, changed_on=first.on - timedelta(days=1))


def _left(dimension: str, events: Sequence[Shown], catalogue: Catalogue) -> Trait | None:
    out = {event.value for event in events if event.dimension == dimension and event.role == "against"}
    left = [value.slug for value in catalogue.dimension(dimension).values if value.slug not in out] if out else []
    return Trait(dimension, left[0], ruled_out=tuple(sorted(out))) if len(left) == 1 else None


def _conditional(dimension: str, sides: Sequence[Shown]) -> Trait | None:
    """The sides that were seen; an unseen one stays empty."""
    if not sides:
        return None
    values = {event.group: event.value for event in sides}
    when = sides[-1].group.removeprefix(NOT)
    return Trait(dimension, values.get(NOT + when, ""), when=when, value_when=values.get(when, ""))


def _period(group: str, events: Sequence[Shown], catalogue: Catalogue) -> StatePeriod | None:
    """A state from its first event to the end that a text names, else to the one that ends it, else at its longest."""
    domain, _, slug = group.partition(".")
    state = catalogue.domains[domain].states.get(slug) if domain in catalogue.domains else None
    if state is None:
        return None
    named = [event.until for event in events if event.until is not None]
    ended = [event.on - timedelta(days=1) for event in events if event.role == "state_end"]
    start = events[0].on
    end = named[-1] if named else ended[0] if ended else start + timedelta(days=state.days[1])
    return StatePeriod(domain, state, start, end)


def _effect(period: StatePeriod, dimension: str) -> str:
    return next((e.value for e in period.state.effects if e.dimension == dimension), "")


def _by_state(period: StatePeriod, dimension: str, trait: Trait | None) -> Choice:
    value = _effect(period, dimension)
    losing = tuple(sorted({v for v in ((trait.value, trait.value_when) if trait else ()) if v and v != value}))
    own = dimension.split(".")[0] == period.domain
    return Choice(value, period.key, losing, Conflict.OVERRIDE if own else Conflict.CROSS)


def _by_trait(trait: Trait, today: date, context: str) -> Choice:
    if trait.when:
        holds = context == trait.when
        value, other = (trait.value_when, trait.value) if holds else (trait.value, trait.value_when)
        return Choice(value, trait.when if holds else NOT + trait.when, (other,), Conflict.CONDITIONAL)
    if trait.changed_on is not None and today > trait.changed_on:
        return Choice(trait.value, "", (trait.was,), Conflict.DRIFT)
    return Choice(trait.was if trait.changed_on is not None else trait.value, "", (), Conflict.NONE)


def _shows(event: EventSpec, dimension: str, value: str, group: str) -> bool:
    roles = {"cue", "condition", "drift"}
    return event.role in roles and (event.dimension, event.value, event.group) == (dimension, value, group)
