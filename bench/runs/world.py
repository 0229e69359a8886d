"""The tools of one task, run against its world. Look-ups read; committing calls are remembered."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from jsonschema import Draft202012Validator, ValidationError

from agents.contract import JSON, ToolResult, ToolSpec
from bench.grading.normalise import Ambiguous, Unreadable, normalise, same_text
from bench.grading.rules import Call
from bench.models import Task
from bench.runs.matching import matches, named

PAGE = 14
FORMS = {"date": "such as 2026-03-14", "time": "such as 19:30"}  # the formats that a rule reads, and the form wanted
TYPES = {"integer": "a whole number such as 2", "number": "a number such as 2.5", "string": "a text"}


@dataclass
class ToolWorld:
    """``agents.contract.CallTool`` for one task. ``committed`` holds accepted committing calls in order.

    ``as_of``: the task's moment, by which dates are read as the rules read them.
    """

    specs: tuple[ToolSpec, ...]
    world: JSON
    as_of: datetime
    committed: list[Call] = field(default_factory=list)

    def __call__(self, name: str, arguments: JSON) -> ToolResult:
        spec = next((spec for spec in self.specs if spec.name == name), None)
        if spec is None:
            return _error(f"there is no tool {name!r}; tools are: {', '.join(spec.name for spec in self.specs)}")
        if not spec.commits:  # null means "any" there
            arguments = {key: value for key, value in arguments.items() if value is not None}
        if fault := self._fault(spec, arguments):
            return _error(fault)
        return self._commit(spec, arguments) if spec.commits else self._look_up(spec, arguments)

    def _fault(self, spec: ToolSpec, arguments: JSON) -> str:
        """What does not fit the schema, or could not be read by a rule; "" where all is well."""
        errors = Draft202012Validator(spec.parameters).iter_errors(arguments)
        if first := min(errors, key=lambda error: str(error.path), default=None):
            return _in_words(first, spec.parameters)
        for name, value in arguments.items():
            form = spec.parameters["properties"].get(name, {}).get("format", "")
            if form not in FORMS or value is None:
                continue
            try:
                normalise(value, form, as_of=self.as_of)
            except (Unreadable, Ambiguous) as error:
                return f"{name}: {error}; give a {form} {FORMS[form]}"
        return ""

    def _look_up(self, spec: ToolSpec, arguments: JSON) -> ToolResult:
        filters = self.world["filters"].get(spec.name, {})
        forms = {name: schema.get("format", "") for name, schema in spec.parameters["properties"].items()}
        wanted = [(filters[name], value, forms.get(name, "")) for name, value in arguments.items() if name in filters]
        items = [
            item
            for item in self.world["items"]
            if all(matches(item.get(key), value, form, self.as_of) for key, value, form in wanted)
        ]
        if items:
            return ToolResult(ok=True, content={"items": items[:PAGE], "total": len(items)})
        return ToolResult(ok=False, content={"items": [], "total": 0, "error": self._nothing(arguments, filters)})

    def _nothing(self, arguments: JSON, filters: dict[str, str]) -> str:
        """Says that no item was found, and which values there are."""
        asked = [name for name in arguments if name in filters]
        found = "; ".join(
            f"{name} is one of {named(item.get(filters[name], '') for item in self.world['items'])}" for name in asked
        )
        given = ", ".join(f"{name} {arguments[name]!r}" for name in asked)
        return f"no item for {given}; {found}" if asked else "there are no items"

    def _commit(self, spec: ToolSpec, arguments: JSON) -> ToolResult:
        name = self.world["item_argument"]
        chooses = name in spec.parameters["properties"]
        if chooses and not any(same_text(item["id"], arguments.get(name)) for item in self.world["items"]):
            return _error(f"{name}: there is no item {arguments.get(name)!r}; take an id from a look-up")
        self.committed.append({"tool": spec.name, "arguments": arguments})
        done: JSON = {"confirmation": f"{spec.name} done", "number": len(self.committed)}
        return ToolResult(ok=True, content=done, accepted=True)


def world_of(task: Task) -> ToolWorld:
    return ToolWorld(tool_specs_of(task), task.world, task.as_of)


def tool_specs_of(task: Task) -> tuple[ToolSpec, ...]:
    return tuple(ToolSpec(**spec) for spec in task.tools)


def _in_words(error: ValidationError, schema: JSON) -> str:
    """The fault with its place, and what would be right."""
    place = ".".join(str(part) for part in error.path) or "arguments"
    wanted = schema["properties"].get(place, {})
    if error.validator == "type" and isinstance(wanted.get("type"), str):
        form = FORMS.get(wanted.get("format", ""), "")
        kind = TYPES.get(wanted["type"], wanted["type"])
        return f"{place}: {_short(error.instance)} does not fit; give {kind} {form}".strip()
    if error.validator == "required":
        missing = [name for name in error.validator_value if name not in error.instance]
        return f"{place}: {', '.join(missing)} missing; all of {', '.join(error.validator_value)} must be given"
    if error.validator == "enum":
        choices = ", ".join("null" if value is None else repr(value) for value in error.validator_value)
        return f"{place}: {_short(error.instance)} is no choice; give one of {choices}"
    if error.validator == "additionalProperties":
        unknown = sorted(str(name) for name in error.instance if name not in schema["properties"])
        return f"{place}: {named(unknown)} is unknown; arguments are {named(schema['properties'])}"
    return f"{place}: {error.message[:500]}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _error(message: str) -> ToolResult:
    return ToolResult(ok=False, content={"error": message})
