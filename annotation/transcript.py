"""A trajectory as a rater reads it: request, look-ups, what was done. Nothing that tells who did it.

Model, method, searches, drawn constraints, checks and the ending differ
between methods, so none of them is here. Judges see no more either.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count

from agents.contract import JSON, Part, PartKind, Step, StepKind
from agents.contract.serialise import from_json
from agents.toolkit.sentences import paragraphs
from bench.grading.normalise import same_text
from bench.models import Event, Task, Trajectory

Fields = tuple[tuple[str, str], ...]

NAME_CHARS = 200  # a part with a longer name, such as of an odd argument, cannot be pointed at


@dataclass(frozen=True, slots=True)
class Passage:
    """Something that a comment can point at.

    ``name`` is a ``Part`` of the contract as text, and stays the same for a stored trajectory. Look-ups are counted
    as the rater sees them, since a number among all steps would tell how many are hidden.
    """

    name: str
    label: str
    text: str


Groups = tuple[tuple[str, tuple[Passage, ...]], ...]  # each with a title


@dataclass(frozen=True, slots=True)
class LookUp:
    """One tool call; ``part`` is its tool. ``columns`` and ``rows``: items that came back; ``answer``: what else."""

    part: Passage
    arguments: Fields
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Call:
    """An accepted committing call; ``part`` is its tool. ``item``: the id of the item that it chose."""

    part: Passage
    arguments: tuple[Passage, ...]
    item: str
    item_fields: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Transcript:
    """``paragraphs`` (of lines of sentences) or ``calls`` is what was done; both empty where nothing was."""

    request: Passage
    as_of: datetime
    domain: str
    scenario: str
    look_ups: tuple[LookUp, ...]
    paragraphs: tuple[tuple[tuple[Passage, ...], ...], ...]
    calls: tuple[Call, ...]


def transcript(trajectory: Trajectory) -> Transcript:
    """Reads the stored trajectory; expects ``unit__task__scenario__domain`` to be selected."""
    task = trajectory.unit.task
    course = from_json(trajectory.data)
    public = {tool["name"] for tool in task.tools}
    look_ups = (step for step in course.steps if _is_look_up(step, public))
    calls = trajectory.committed
    return Transcript(
        request=_passage(Part(PartKind.REQUEST), "request", task.request),
        as_of=task.as_of,
        domain=task.scenario.domain.name,
        scenario=task.scenario.name,
        look_ups=tuple(_look_up(number, step) for number, step in enumerate(look_ups, 1)),
        paragraphs=_paragraphs(course.action.text if course.action else ""),
        calls=tuple(_call(task, calls, number) for number in range(1, len(calls) + 1)),
    )


def parts(read: Transcript) -> Groups:
    """All that any comment on the trajectory can point at."""
    return _short(
        ("Request", (read.request,)),
        ("Look-ups", tuple(look_up.part for look_up in read.look_ups)),
        *(("Call", (call.part, *call.arguments)) for call in read.calls),
        *((f"{call.item} is", call.item_fields) for call in read.calls),
        ("Text", tuple(part for paragraph in read.paragraphs for line in paragraph for part in line)),
    )


def evidence_parts(events: Iterable[Event]) -> Groups:
    """What a comment on one checkpoint can point at beside them: its evidence."""
    return _short(("Evidence", tuple(map(event_part, events))))


def _short(*groups: tuple[str, tuple[Passage, ...]]) -> Groups:
    short = ((title, tuple(part for part in found if len(part.name) <= NAME_CHARS)) for title, found in groups)
    return tuple((title, found) for title, found in short if found)


def part_named(name: str, read: Transcript, events: Iterable[Event] = ()) -> Passage | None:
    """The part of that name, or None where there is none of it."""
    groups = (*parts(read), *evidence_parts(events))
    return next((part for _, group in groups for part in group if part.name == name), None)


def event_part(event: Event) -> Passage:
    return _passage(Part(PartKind.EVENT, str(event.pk)), f"evidence of {event.occurred_at:%-d %b %Y}", event.text)


def _passage(part: Part, label: str, text: str) -> Passage:
    return Passage(str(part), label, text)


def _paragraphs(text: str) -> tuple[tuple[tuple[Passage, ...], ...], ...]:
    number = count(1)
    return tuple(
        tuple(tuple(_sentence(next(number), said) for said in line) for line in paragraph)
        for paragraph in paragraphs(text)
    )


def _sentence(number: int, text: str) -> Passage:
    return _passage(Part.sentence(number), f"sentence {number}", text)


def _is_look_up(step: Step, public: set[str]) -> bool:
    """Calls of the task's own tools only: a tool that one method brings along would give it away.

    What an agent elsewhere claims to have called is none: its real calls stand in our record.
    """
    data = step.data
    return (
        step.kind is StepKind.TOOL
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
    part = _passage(Part(PartKind.LOOKUP, str(number)), f"look-up {number}", step.data["tool"])
    return LookUp(part, _arguments(arguments), columns, rows, answer)


def _items(content: object) -> list[Mapping[str, object]]:
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


def _call(task: Task, calls: Sequence[JSON], number: int) -> Call:
    """The last call of a tool is the one that counts, so its parts have the short names."""
    call, last = calls[number - 1], len(calls)
    of_call = number if any(later["tool"] == call["tool"] for later in calls[number:]) else None
    chosen = str(call["arguments"].get(task.world.get("item_argument", ""), ""))
    items = (item for item in task.world.get("items", []) if same_text(item["id"], chosen))
    fields = _field_passages(PartKind.ITEM, of_call, next(items, {}))
    return Call(
        _passage(Part(PartKind.CALL, str(number)), f"call {number}" if last > 1 else "call", call["tool"]),
        _field_passages(PartKind.ARGUMENT, of_call, call["arguments"]),
        chosen,
        tuple(passage for passage in fields if passage.label != "id"),
    )


def _field_passages(kind: PartKind, call: int | None, values: Mapping[str, object]) -> tuple[Passage, ...]:
    return tuple(
        _passage(Part(kind, str(key), call), str(key).replace("_", " "), _plain(value))
        for key, value in _ordered(values)
    )


def _ordered(values: Mapping[str, object]) -> list[tuple[str, object]]:
    return sorted(values.items(), key=lambda pair: pair[0] != "title")


def _fields(values: Mapping[str, object]) -> Fields:
    return tuple((str(key).replace("_", " "), _plain(value)) for key, value in _ordered(values))


def _plain(value: object) -> str:
    """A value as a person would write it."""
    if value is None:
        return "not given"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_plain(item) for item in value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping) else str(value)
