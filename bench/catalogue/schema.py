"""The shapes of the authored files. Each rule that one file can be checked against alone stands here."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from functools import cached_property
from typing import Literal

from pydantic import ConfigDict, Field, model_validator

from bench.catalogue.facts import Activity, Fact
from bench.catalogue.texts import SLOT, STATE_SLOTS, Authored, DimensionRef, Prose, Slug, Text, of_split

MIN_VALUES, MIN_CUES, MIN_CHANNELS = 3, 5, 3
MIN_SPLIT_CUES = 2


class DistractorKind(StrEnum):
    OTHER_PERSON = "other_person"
    HYPOTHETICAL = "hypothetical"
    OUTDATED = "outdated"
    IRONY = "irony"
    FICTION = "fiction"
    WORK = "work"
    RETRACTED = "retracted"
    GIFT = "gift"
    SHARED_ACCOUNT = "shared_account"
    GUEST = "guest"
    SOMEONE_ELSES_PLAN = "someone_elses_plan"
    ERRAND = "errand"
    CURIOSITY = "curiosity"
    FORCED = "forced"


class Value(Authored):
    """``against``: texts which show that this value is out, and which leave every other value open."""

    slug: Slug
    label: Prose
    description: Prose
    needs: tuple[Fact, ...] = ()
    excludes: tuple[Fact, ...] = ()
    cues: tuple[Text, ...]
    against: tuple[Text, ...] = ()

    def open_to(self, facts: frozenset[str]) -> bool:
        """Whether somebody of whom these facts hold can hold the value at all."""
        return {fact.value for fact in self.needs} <= facts and not any(f.value in facts for f in self.excludes)

    @model_validator(mode="after")
    def _enough_cues(self) -> Value:
        channels = {cue.channel for cue in self.cues}
        if len(self.cues) < MIN_CUES:
            raise ValueError(f"value {self.slug!r} has {len(self.cues)} cues; at least {MIN_CUES} are needed")
        if len(channels) < MIN_CHANNELS:
            raise ValueError(f"value {self.slug!r} uses {len(channels)} channels; at least {MIN_CHANNELS}")
        for split in ("dev", "test"):
            if len(of_split(self.cues, split)) < MIN_SPLIT_CUES:
                raise ValueError(f"value {self.slug!r} has fewer than {MIN_SPLIT_CUES} cues for {split}")
            if self.against and len(of_split(self.against, split)) < MIN_SPLIT_CUES:
                raise ValueError(f"value {self.slug!r} has fewer than {MIN_SPLIT_CUES} texts against it for {split}")
        return self


class Drift(Authored):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
    source: Slug = Field(alias="from")
    target: Slug = Field(alias="to")
    reason: Text | None = None
    reasons: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _has_a_reason(self) -> Drift:
        if (self.reason is None) == (not self.reasons):
            raise ValueError(f"the drift from {self.source!r} to {self.target!r} has either reason or reasons")
        return self

    @property
    def told(self) -> tuple[Text, ...]:
        return (self.reason,) if self.reason else self.reasons


class ConditionCues(Authored):
    when: tuple[Text, ...] = Field(min_length=3)
    otherwise: tuple[Text, ...] = Field(min_length=3)


class Condition(Authored):
    when: Slug
    value: Slug
    otherwise: Slug
    cues: ConditionCues


class Distractor(Text):
    kind: DistractorKind
    looks_like: Slug
    why: Prose


class Dimension(Authored):
    slug: Slug
    name: Prose
    question: Prose
    values: tuple[Value, ...] = Field(min_length=MIN_VALUES)
    drifts: tuple[Drift, ...] = Field(min_length=1)
    conditions: tuple[Condition, ...] = ()
    distractors: tuple[Distractor, ...] = Field(min_length=4)

    @model_validator(mode="after")
    def _known_values(self) -> Dimension:
        allowed = [value.slug for value in self.values]
        if len(set(allowed)) != len(allowed):
            raise ValueError(f"a value's slug stands twice among {allowed}")
        named = [("drifts", slug) for d in self.drifts for slug in (d.source, d.target)]
        named += [("conditions", slug) for c in self.conditions for slug in (c.value, c.otherwise)]
        named += [("distractors", d.looks_like) for d in self.distractors]
        for field, slug in named:
            if slug not in allowed:
                raise ValueError(f"{field} names value {slug!r}; allowed: {', '.join(allowed)}")
        if len({d.kind for d in self.distractors}) < 3:
            raise ValueError("distractors are of fewer than three kinds")
        return self

    def reasons(self, drift: Drift, split: str) -> tuple[Text, ...]:
        """A drift's reasons that serve a split. Where each drift has one, they are dealt out over the dimension."""
        if len(drift.told) > 1:
            return of_split(drift.told, split)
        singles = [other.told[0] for other in self.drifts if len(other.told) == 1]
        return tuple(text for text in of_split(singles, split) if text is drift.told[0])

    def value(self, slug: str) -> Value:
        return next(value for value in self.values if value.slug == slug)


class Effect(Authored):
    """``because``: what a stranger who reads the state's texts would say follows from them."""

    dimension: DimensionRef
    value: Slug
    because: Prose | None = None


class StateCues(Authored):
    start: tuple[Text, ...] = Field(min_length=2)
    course: tuple[Text, ...] = Field(min_length=2)
    end: tuple[Text, ...] = Field(min_length=1)


class State(Authored):
    slug: Slug
    name: Prose
    days: tuple[int, int]
    needs: tuple[Fact, ...] = ()
    excludes: tuple[Fact, ...] = ()
    bars: tuple[Activity, ...] = ()
    effects: tuple[Effect, ...] = Field(min_length=1)
    cues: StateCues

    def open_to(self, facts: frozenset[str]) -> bool:
        """Whether it can come over somebody of whom these facts hold."""
        return {fact.value for fact in self.needs} <= facts and not any(f.value in facts for f in self.excludes)

    @model_validator(mode="after")
    def _end_can_be_known(self) -> State:
        low, high = self.days
        if not 1 <= low <= high <= 120:
            raise ValueError(f"days {list(self.days)} must be a range within 1 to 120")
        if not any(tells_the_end(text.text) for text in self.cues.start):
            raise ValueError("no start text has a slot, so nobody can work out when the state ends")
        return self


def tells_the_end(text: str) -> bool:
    """Whether a state's text has a slot from which its end can be worked out."""
    return any(name in STATE_SLOTS for name, _ in SLOT.findall(text))


class Domain(Authored):
    slug: Slug
    name: Prose
    summary: Prose


class ContextCondition(Authored):
    slug: Slug
    name: Prose
    needs: tuple[Fact, ...] = ()


class FactChange(Authored):
    """What was so until this day and what is so from it on, in a person's year."""

    slug: Slug
    on: date
    what: Prose
    before: tuple[Fact, ...] = ()
    after: tuple[Fact, ...] = ()


class Person(Authored):
    """Somebody whose year is told. ``children``: ages of those at home.

    ``tags``: the facts that hold of them all year; those that hold for a part of it stand in ``changes``.
    """

    slug: Slug
    name: Prose
    gender: Literal["she", "he"]
    age: int = Field(ge=16, le=99)
    job: Prose
    town: Prose
    country: Slug
    timezone: Prose
    household: Prose
    children: tuple[int, ...] = ()
    first_language: Prose
    tech: Literal["low", "medium", "high"]
    habits: tuple[Prose, ...] = Field(min_length=1)
    tags: tuple[Fact, ...]
    changes: tuple[FactChange, ...] = ()

    @cached_property
    def ever(self) -> frozenset[str]:
        """The facts that hold at some time of the year."""
        return frozenset(fact.value for fact in self.tags).union(
            *({fact.value for fact in (*change.before, *change.after)} for change in self.changes)
        )
