"""The shapes of the authored files. Each rule that one file can be checked against alone stands here."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
DimensionRef = Annotated[str, StringConstraints(pattern=r"^[a-z_]+\.[a-z0-9_]+$")]
Prose = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]

MIN_VALUES, MIN_CUES, MIN_CHANNELS = 3, 5, 3
MIN_PREFERENCES = 5

SLOT = re.compile(r"\{([a-z_]+)(?::([a-z]+))?\}")


class Channel(StrEnum):
    MESSAGE = "message"
    CHAT = "chat"
    CALENDAR = "calendar"
    SEARCH = "search"
    PURCHASE = "purchase"
    REVIEW = "review"
    NOTE = "note"
    DEVICE_LOG = "device_log"
    BANK = "bank"
    WATCH_LOG = "watch_log"
    FORM = "form"


class Tag(StrEnum):
    """What a text may presume of a persona."""

    PARENT = "parent"
    PARTNER = "partner"
    SINGLE = "single"
    STUDENT = "student"
    RETIRED = "retired"
    OFFICE = "office"
    SHIFT_WORK = "shift_work"
    SELF_EMPLOYED = "self_employed"
    CAR = "car"
    PET = "pet"
    GARDEN = "garden"
    YOUNG = "young"
    OLDER = "older"
    OWNER = "owner"
    RENTER = "renter"
    LIVES_ALONE = "lives_alone"


class DistractorKind(StrEnum):
    OTHER_PERSON = "other_person"
    HYPOTHETICAL = "hypothetical"
    OUTDATED = "outdated"
    IRONY = "irony"
    FICTION = "fiction"
    WORK = "work"
    RETRACTED = "retracted"


class Authored(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class Text(Authored):
    channel: Channel
    text: Prose
    fits: tuple[Tag, ...] = ()

    def suits(self, tags: frozenset[str]) -> bool:
        return all(tag in tags for tag in self.fits)


class Value(Authored):
    slug: Slug
    label: Prose
    description: Prose
    cues: tuple[Text, ...]

    @model_validator(mode="after")
    def _enough_cues(self) -> Value:
        channels = {cue.channel for cue in self.cues}
        if len(self.cues) < MIN_CUES:
            raise ValueError(f"value {self.slug!r} has {len(self.cues)} cues; at least {MIN_CUES} are needed")
        if len(channels) < MIN_CHANNELS:
            raise ValueError(f"value {self.slug!r} uses {len(channels)} channels; at least {MIN_CHANNELS}")
        return self


class Drift(Authored):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
    source: Slug = Field(alias="from")
    target: Slug = Field(alias="to")
    reason: Text


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

    def value(self, slug: str) -> Value:
        return next(value for value in self.values if value.slug == slug)


class Effect(Authored):
    dimension: DimensionRef
    value: Slug


class StateCues(Authored):
    start: tuple[Text, ...] = Field(min_length=2)
    course: tuple[Text, ...] = Field(min_length=2)
    end: tuple[Text, ...] = Field(min_length=1)


STATE_SLOTS = frozenset({"end_day", "end_date", "end_weekday", "days"})


class State(Authored):
    slug: Slug
    name: Prose
    days: tuple[int, int]
    effects: tuple[Effect, ...] = Field(min_length=1)
    cues: StateCues

    @model_validator(mode="after")
    def _end_can_be_known(self) -> State:
        low, high = self.days
        if not 1 <= low <= high <= 120:
            raise ValueError(f"days {list(self.days)} must be a range within 1 to 120")
        texts = [*self.cues.start, *self.cues.course, *self.cues.end]
        for text in texts:
            _only_slots(text.text, STATE_SLOTS, f"state {self.slug!r}")
        if not any(SLOT.search(text.text) for text in self.cues.start):
            raise ValueError("no start text has a slot, so nobody can work out when the state ends")
        return self


def _only_slots(text: str, allowed: frozenset[str], where: str) -> None:
    for name, _ in SLOT.findall(text):
        if name not in allowed:
            raise ValueError(f"{where} uses slot {name!r} in {text!r}; allowed: {', '.join(sorted(allowed))}")


class Decided(Authored):
    """Something that a preference decides: the option text that each value asks for."""

    dimension: DimensionRef | None = None
    options: dict[Slug, Prose] | None = None
    checkpoint: Prose | None = None

    @model_validator(mode="after")
    def _complete(self) -> Decided:
        if self.dimension is None:
            return self
        if not self.options or self.checkpoint is None:
            raise ValueError(f"what {self.dimension} decides needs options and a checkpoint with {{option}}")
        if "{option}" not in self.checkpoint:
            raise ValueError(f"checkpoint {self.checkpoint!r} does not contain {{option}}")
        if len(set(self.options.values())) != len(self.options):
            raise ValueError(f"two options of {self.dimension} read the same")
        return self


class Parameter(Decided):
    type: Literal["string", "integer", "number", "boolean"]
    description: Prose
    format: Literal["date", "time"] | None = None
    field: Slug | None = None
    item: bool = False
    equals: str | None = None
    optional: bool = False
    enum: tuple[str, ...] | None = None


class Lookup(Authored):
    name: Slug
    description: Prose
    parameters: dict[Slug, Parameter]


class Tools(Authored):
    lookups: tuple[Lookup, ...] = Field(min_length=1)
    commit: Lookup


class ItemField(Decided):
    slot: Slug | None = None
    choices: tuple[str | int | float, ...] | None = None
    range: tuple[float, float] | None = None

    @model_validator(mode="after")
    def _one_source(self) -> ItemField:
        given = [self.slot is not None, self.choices is not None, self.range is not None, self.dimension is not None]
        if sum(given) != 1:
            raise ValueError("an item field has exactly one of slot, choices, range, dimension")
        return self


class ItemCheckpoint(Authored):
    field: Slug
    equals: str
    checkpoint: Prose


class Items(Authored):
    noun: Prose
    title: tuple[Prose, ...] = Field(min_length=1)
    fields: dict[Slug, ItemField]
    checkpoints: tuple[ItemCheckpoint, ...] = ()


class Request(Authored):
    text: Prose
    context: Slug | None = None


class Scenario(Authored):
    slug: Slug
    name: Prose
    action: Literal["call_api", "generate"]
    summary: Prose
    slots: dict[Slug, Any] = {}
    requests: tuple[Request, ...] = Field(min_length=4)
    tools: Tools | None = None
    items: Items | None = None
    preferences: dict[DimensionRef, dict[Slug, Prose]] = {}
    checkpoints: tuple[Prose, ...] = ()

    @model_validator(mode="after")
    def _whole(self) -> Scenario:
        slots = frozenset(self.slots)
        for request in self.requests:
            _only_slots(request.text, slots, f"scenario {self.slug!r}")
        for name, choices in self.slots.items():
            if choices != "date" and not (isinstance(choices, list) and choices):
                raise ValueError(f"slot {name!r} is neither 'date' nor a list of values: {choices!r}")
        _check_call_api(self) if self.action == "call_api" else _check_generate(self)
        if len(self.dimensions) < MIN_PREFERENCES:
            raise ValueError(f"{len(self.dimensions)} preferences decide something; at least {MIN_PREFERENCES}")
        return self

    @property
    def decided_parameters(self) -> dict[str, Parameter]:
        parameters = self.tools.commit.parameters if self.tools else {}
        return {name: parameter for name, parameter in parameters.items() if parameter.dimension}

    @property
    def decided_fields(self) -> dict[str, ItemField]:
        fields = self.items.fields if self.items else {}
        return {name: field for name, field in fields.items() if field.dimension}

    @property
    def dimensions(self) -> tuple[str, ...]:
        """References of all dimensions that bear on this scenario, in file order."""
        decided = [*self.decided_parameters.values(), *self.decided_fields.values()]
        found = [d.dimension for d in decided if d.dimension] + list(self.preferences)
        return tuple(dict.fromkeys(found))

    def options(self, dimension: str) -> frozenset[str]:
        """Value slugs of the dimension that this scenario can tell apart."""
        decided = [*self.decided_parameters.values(), *self.decided_fields.values()]
        for one in decided:
            if one.dimension == dimension and one.options:
                return frozenset(one.options)
        return frozenset(self.preferences.get(dimension, {}))


def _check_call_api(scenario: Scenario) -> None:
    if scenario.tools is None or scenario.items is None:
        raise ValueError("a call_api scenario needs tools and items")
    if scenario.preferences or scenario.checkpoints:
        raise ValueError("preferences and checkpoints at the top are for generate scenarios")
    fields = scenario.items.fields
    for lookup in scenario.tools.lookups:
        for name, parameter in lookup.parameters.items():
            if parameter.field and parameter.field != "id" and parameter.field not in fields:
                raise ValueError(f"{lookup.name}.{name} filters on {parameter.field!r}; fields: {', '.join(fields)}")
    commit = scenario.tools.commit.parameters
    if sum(parameter.item for parameter in commit.values()) != 1:
        raise ValueError("exactly one parameter of the commit has item: true")
    slots = frozenset(scenario.slots)
    for name, parameter in commit.items():
        if parameter.equals is not None:
            _only_slots(parameter.equals, slots, f"commit parameter {name!r}")
            if parameter.checkpoint is None:
                raise ValueError(f"commit parameter {name!r} has equals but no checkpoint")
    for checkpoint in scenario.items.checkpoints:
        if checkpoint.field not in fields:
            raise ValueError(f"item checkpoint on {checkpoint.field!r}; fields: {', '.join(fields)}")
        _only_slots(checkpoint.equals, slots, "item checkpoint")
    for title in scenario.items.title:
        _only_slots(title, frozenset(fields), "item title")
    for name, field in fields.items():
        if field.slot and field.slot not in scenario.slots:
            raise ValueError(f"item field {name!r} takes slot {field.slot!r}; slots: {', '.join(slots)}")
    if len(scenario.decided_parameters) < 2 or len(scenario.decided_fields) < 2:
        raise ValueError("preferences must decide at least two parameters and two item fields")


def _check_generate(scenario: Scenario) -> None:
    if scenario.tools is not None or scenario.items is not None:
        raise ValueError("a generate scenario has neither tools nor items")
    if len(scenario.checkpoints) < 2:
        raise ValueError("a generate scenario needs two or more task checkpoints")
    slots = frozenset(scenario.slots)
    for text in scenario.checkpoints:
        _only_slots(text, slots, f"scenario {scenario.slug!r}")


class Domain(Authored):
    slug: Slug
    name: Prose
    summary: Prose


class ContextCondition(Authored):
    slug: Slug
    name: Prose
    needs: tuple[Tag, ...] = ()


class Person(Authored):
    slug: Slug
    name: Prose
    age: int = Field(ge=16, le=99)
    job: Prose
    town: Prose
    timezone: Prose
    household: Prose
    first_language: Prose
    tech: Literal["low", "medium", "high"]
    habits: tuple[Prose, ...] = Field(min_length=1)
    tags: tuple[Tag, ...]
    background: Prose
