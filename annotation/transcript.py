"""A trajectory as a rater reads it: request, look-ups, what was done. Nothing that tells who did it.

Model, method, searches, drawn constraints, checks and the ending differ
between methods, so none of them is here. Judges see no more either.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Any

from agents.contract import JSON, Step
from agents.contract.serialise import from_json
from bench.grading.normalise import same_text
from bench.models import Event, Task, Trajectory

Fields = tuple[tuple[str, str], ...]

NAME_CHARS = 200  # a part with a longer name, such as of an odd argument, cannot be pointed at

_SENTENCE = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class Part:
    """Something that a comment can point at.

    ``name`` stays the same for a stored trajectory: "request", "lookup:2", "argument:party", "item:kitchen",
    "sentence:3" (as in the agents' links), "call:1" and "event:<id>". Look-ups are counted as the rater sees them,
    since a number among all steps would tell how many are hidden.
    """

    name: str
    label: str
    text: str


@dataclass(frozen=True, slots=True)
class LookUp:
    """One tool call; ``part`` is its tool. ``columns`` and ``rows``: items that came back; ``answer``: what else."""

    part: Part
    arguments: Fields
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Call:
    """An accepted committing call; ``part`` is its tool. ``item``: the id of the item that it chose."""

    part: Part
    arguments: tuple[Part, ...]
    item: str
    item_fields: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Transcript:
    """``paragraphs`` (of lines of sentences) or ``calls`` is what was done; both empty where nothing was."""

    request: Part
    as_of: datetime
    domain: str
    scenario: str
    look_ups: tuple[LookUp, ...]
    paragraphs: tuple[tuple[tuple[Part, ...], ...], ...]
    calls: tuple[Call, ...]


def transcript(trajectory: Trajectory) -> Transcript:
    """Reads the stored trajectory; expects ``unit__task__scenario__domain`` to be selected."""
    task = trajectory.unit.task
    course = from_json(trajectory.data)
    public = {tool["name"] for tool in task.tools}
    look_ups = (step for step in course.steps if _is_look_up(step, public))
    calls = trajectory.committed
    return Transcript(
        request=Part("request", "request", task.request),
        as_of=task.as_of,
        domain=task.scenario.domain.name,
        scenario=task.scenario.name,
        look_ups=tuple(_look_up(number, step) for number, step in enumerate(look_ups, 1)),
        paragraphs=_paragraphs(course.action.text if course.action else ""),
        calls=tuple(_call(task, call, number, len(calls)) for number, call in enumerate(calls, 1)),
    )


def parts(read: Transcript, events: Iterable[Event] = ()) -> list[tuple[str, tuple[Part, ...]]]:
    """All that a comment on one checkpoint can point at, in groups with a title. ``events``: its evidence."""
    groups = [
        ("Request", (read.request,)),
        ("Look-ups", tuple(look_up.part for look_up in read.look_ups)),
        *(("Call", (call.part, *call.arguments)) for call in read.calls),
        *((f"{call.item} is", call.item_fields) for call in read.calls),
        ("Text", tuple(part for paragraph in read.paragraphs for line in paragraph for part in line)),
        ("Evidence", tuple(map(event_part, events))),
    ]
    short = [(title, tuple(part for part in found if len(part.name) <= NAME_CHARS)) for title, found in groups]
    return [(title, found) for title, found in short if found]


def part_named(name: str, read: Transcript, events: Iterable[Event] = ()) -> Part | None:
    """The part of that name, or None where there is none of it."""
    return next((part for _, group in parts(read, events) for part in group if part.name == name), None)


def event_part(event: Event) -> Part:
    return Part(f"event:{event.pk}", f"evidence of {event.occurred_at:%-d %b %Y}", event.text)


def _paragraphs(text: str) -> tuple[tuple[tuple[Part, ...], ...], ...]:
    number = count(1)
    return tuple(
        tuple(
            tuple(_sentence(next(number), said) for said in _SENTENCE.split(line.strip()))
            for line in paragraph.split("\n")
            if line.strip()
        )
        for paragraph in re.split(r"\n\s*\n", text)
        if paragraph.strip()
    )


def _sentence(number: int, text: str) -> Part:
    return Part(f"sentence:{number}", f"sentence {number}", text)


def _is_look_up(step: Step, public: set[str]) -> bool:
    """Calls of the task's own tools only: a tool that one method brings along would give it away.

    What an agent elsewhere claims to have called is none: its real calls stand in our record.
    """
    data = step.data
    return (
        step.kind == "tool"
        and not data.get("claimed")
        and isinstance(data.get("tool"), str)
        and data["tool"] in public
        and not data.get("accepted")
    )


def _look_up(number: int, step: Step) -> LookUp:
    content, arguments = step.data.get("content"), step.data.get("arguments")
    items = _items(content)
    seen = {str(key) for item in items for key in item}
    columns = tuple(sorted(seen, key=lambda name: (name != "id", name != "title", name)))
    rows = tuple(tuple(_plain(item.get(column)) for column in columns) for item in items)
    answer = "" if items else _answer(content)
    part = Part(f"lookup:{number}", f"look-up {number}", step.data["tool"])
    return LookUp(part, _arguments(arguments), columns, rows, answer)


def _items(content: object) -> list[Mapping[str, Any]]:
    items = content.get("items") if isinstance(content, Mapping) else None
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


def _answer(content: object) -> str:
    """What came back beside items; of an odd shape as plain text."""
    if not isinstance(content, Mapping):
        return "" if content is None else _plain(content)
    if isinstance(content.get("error"), str):
        return str(content["error"])
    return "; ".join(f"{key}: {value}" for key, value in _fields(content))


def _arguments(arguments: object) -> Fields:
    if isinstance(arguments, Mapping):
        return _fields(arguments)
    return () if arguments is None else (("arguments", _plain(arguments)),)


def _call(task: Task, call: JSON, number: int, last: int) -> Call:
    """The last call is the one that counts, so its parts have the short names."""
    prefix = "" if number == last else f"call:{number}:"
    chosen = str(call["arguments"].get(task.world.get("item_argument", ""), ""))
    items = (item for item in task.world.get("items", []) if same_text(item["id"], chosen))
    return Call(
        Part(f"call:{number}", f"call {number}" if last > 1 else "call", call["tool"]),
        _field_parts(f"{prefix}argument", call["arguments"]),
        chosen,
        tuple(part for part in _field_parts(f"{prefix}item", next(items, {})) if part.label != "id"),
    )


def _field_parts(prefix: str, values: Mapping[str, Any]) -> tuple[Part, ...]:
    return tuple(Part(f"{prefix}:{key}", str(key).replace("_", " "), _plain(value)) for key, value in _ordered(values))


def _ordered(values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return sorted(values.items(), key=lambda pair: pair[0] != "title")


def _fields(values: Mapping[str, Any]) -> Fields:
    return tuple((str(key).replace("_", " "), _plain(value)) for key, value in _ordered(values))


def _plain(value: Any) -> str:
    """A value as a person would write it."""
    if value is None:
        return "not given"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_plain(item) for item in value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping) else str(value)
