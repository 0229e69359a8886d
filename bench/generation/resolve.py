"""Gold: what a persona prefers at a moment, on a day, in a context, and which events show it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from bench.generation.spec import Conflict, EventSpec, PersonaSpec, StatePeriod, Trait


@dataclass(frozen=True)
class Resolved:
    value: str
    evidence: tuple[int, ...]  # positions in the persona's events, all before the as-of time
    losing: tuple[str, ...]
    conflict: Conflict


def resolve(persona: PersonaSpec, dimension: str, *, as_of: datetime, day: date, context: str) -> Resolved | None:
    """What holds on ``day`` as far as the history up to ``as_of`` shows it; None where it shows nothing."""
    seen = [(i, event) for i, event in enumerate(persona.events) if event.occurred_at < as_of]
    trait = persona.trait(dimension)
    state = _state(persona, dimension, as_of.date(), day)
    if state is not None:
        return _from_state(seen, state, dimension, trait)
    if trait is None:
        return None
    resolved = _from_trait(seen, trait, as_of, context)
    if resolved and resolved.conflict is Conflict.NONE:
        over = _expired(persona, dimension, as_of, resolved.value)
        if over:
            return Resolved(resolved.value, resolved.evidence, (over,), Conflict.EXPIRED)
    return resolved


def _effect(period: StatePeriod, dimension: str) -> str:
    return next((e.value for e in period.state.effects if e.dimension == dimension), "")


def _state(persona: PersonaSpec, dimension: str, today: date, day: date) -> StatePeriod | None:
    """A state counts where it is on today and still on the day asked about."""
    found = (p for p in persona.states if p.start < today and p.holds(day) and _effect(p, dimension))
    return next(found, None)


def _from_state(
    seen: list[tuple[int, EventSpec]], period: StatePeriod, dimension: str, trait: Trait | None
) -> Resolved:
    value = _effect(period, dimension)
    evidence = tuple(i for i, e in seen if e.group == period.key)
    losing = tuple(sorted({v for v in ((trait.value, trait.value_when) if trait else ()) if v and v != value}))
    own = dimension.split(".")[0] == period.domain
    return Resolved(value, evidence, losing, Conflict.OVERRIDE if own else Conflict.CROSS)


def _from_trait(seen: list[tuple[int, EventSpec]], trait: Trait, as_of: datetime, context: str) -> Resolved | None:
    if trait.when:
        holds = context == trait.when
        value, other = (trait.value_when, trait.value) if holds else (trait.value, trait.value_when)
        group = trait.when if holds else f"not {trait.when}"
        evidence = _positions(seen, trait.dimension, value, group)
        return Resolved(value, evidence, (other,), Conflict.CONDITIONAL) if evidence else None
    if trait.changed_on is not None and as_of.date() > trait.changed_on:
        evidence = _positions(seen, trait.dimension, trait.value, "")
        return Resolved(trait.value, evidence, (trait.was,), Conflict.DRIFT) if len(evidence) > 1 else None
    value = trait.was if trait.changed_on is not None else trait.value
    evidence = _positions(seen, trait.dimension, value, "")
    return Resolved(value, evidence, (), Conflict.NONE) if evidence else None


def _positions(seen: list[tuple[int, EventSpec]], dimension: str, value: str, group: str) -> tuple[int, ...]:
    roles = {"cue", "condition", "drift"}
    return tuple(i for i, e in seen if e.role in roles and (e.dimension, e.value, e.group) == (dimension, value, group))


def _expired(persona: PersonaSpec, dimension: str, as_of: datetime, value: str) -> str:
    """The value that a state which is over by now asked for, if it differs."""
    values = [_effect(p, dimension) for p in persona.states if p.end < as_of.date()]
    return next((v for v in values if v and v != value), "")
