"""The shape of a scenario: requests, tools, items and what preferences decide in them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from bench.catalogue.facts import Fact
from bench.catalogue.regularities import Typed
from bench.catalogue.texts import (
    SLOT,
    Authored,
    ChoiceRecord,
    DayKind,
    DimensionRef,
    Prose,
    Slug,
    of_split,
)

MIN_PREFERENCES = 5
MIN_RECORDS = 2  # for each split, where a scenario has any


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
    agrees: Slug | None = None  # the field of the item chosen that it has to be like
    optional: bool = False
    enum: tuple[str, ...] | None = None


class Lookup(Authored):
    name: Slug
    description: Prose
    parameters: dict[Slug, Parameter]


class Tools(Authored):
    """``then``: a second committing call, which has to agree with the first. No argument is named in both."""

    lookups: tuple[Lookup, ...] = Field(min_length=1)
    commit: Lookup
    then: Lookup | None = None

    @property
    def commits(self) -> tuple[Lookup, ...]:
        return (self.commit, self.then) if self.then else (self.commit,)

    @property
    def arguments(self) -> dict[str, Parameter]:
        """What the committing calls take, by name."""
        return {name: parameter for tool in self.commits for name, parameter in tool.parameters.items()}

    @property
    def item_argument(self) -> str:
        return next(name for name, parameter in self.commit.parameters.items() if parameter.item)


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
    record: tuple[ChoiceRecord, ...] = ()

    @model_validator(mode="after")
    def _records_for_both(self) -> Items:
        for split in ("dev", "test"):
            if self.record and len(of_split(self.record, split)) < MIN_RECORDS:
                raise ValueError(f"fewer than {MIN_RECORDS} records for {split}")
        return self


class Request(Authored):
    """``asked``: kinds of day on which it can be asked; ``day``: kinds of day that its {day} can be."""

    text: Prose
    context: Slug | None = None
    asked: DayKind | tuple[DayKind, ...] = ()
    day: DayKind | tuple[DayKind, ...] = ()
    needs: tuple[Fact, ...] = ()
    drops: tuple[DimensionRef, ...] = ()


class Scenario(Authored):
    """``why``: for each dimension why it matters for these requests, as a stranger would say. Nobody is shown it.

    ``regularities``: those whose value the action names.
    """

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
    why: dict[DimensionRef, Prose] = {}
    regularities: dict[DimensionRef, Typed] = {}

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
        asked = [*self.dimensions, *self.regularities]
        for reference in (dropped for request in self.requests for dropped in request.drops):
            if reference not in asked:
                raise ValueError(f"a request drops {reference!r}; decided are {', '.join(asked)}")
        if self.why and (unsaid := set(self.dimensions) - self.why.keys()):
            raise ValueError(f"why says nothing of {min(unsaid)!r}, which decides something")
        if beside := self.why.keys() - set(asked):
            raise ValueError(f"why names {min(beside)!r}; decided are {', '.join(asked)}")
        for reference, typed in self.regularities.items():
            _only_slots(typed.checkpoint, slots | {"value", "tolerance", "cur"}, f"regularities: {reference}")
        return self

    @property
    def decided_parameters(self) -> dict[str, Parameter]:
        parameters = self.tools.arguments if self.tools else {}
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
    if sum(parameter.item for parameter in scenario.tools.commit.parameters.values()) != 1:
        raise ValueError("exactly one parameter of the commit has item: true")
    _check_then(scenario.tools)
    slots = frozenset(scenario.slots)
    for name, parameter in scenario.tools.arguments.items():
        if parameter.equals is not None:
            _only_slots(parameter.equals, slots, f"commit parameter {name!r}")
        if parameter.agrees is not None and parameter.agrees not in fields:
            raise ValueError(f"parameter {name!r} agrees with {parameter.agrees!r}; fields: {', '.join(fields)}")
        if (parameter.equals or parameter.agrees) and parameter.checkpoint is None:
            raise ValueError(f"commit parameter {name!r} has equals or agrees but no checkpoint")
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


def _check_then(tools: Tools) -> None:
    if tools.then is None:
        return
    if twice := tools.commit.parameters.keys() & tools.then.parameters.keys():
        raise ValueError(f"parameter {min(twice)!r} stands in {tools.commit.name!r} and in {tools.then.name!r}")
    if any(parameter.item for parameter in tools.then.parameters.values()):
        raise ValueError(f"{tools.then.name!r} chooses an item; only {tools.commit.name!r} does")
    if not any(parameter.agrees for parameter in tools.then.parameters.values()):
        raise ValueError(f"no parameter of {tools.then.name!r} agrees with a field of the item")


def _check_generate(scenario: Scenario) -> None:
    if scenario.tools is not None or scenario.items is not None:
        raise ValueError("a generate scenario has neither tools nor items")
    if len(scenario.checkpoints) < 2:
        raise ValueError("a generate scenario needs two or more task checkpoints")
    slots = frozenset(scenario.slots)
    for text in scenario.checkpoints:
        _only_slots(text, slots, f"scenario {scenario.slug!r}")
