"""A trajectory as a rater reads it: request, look-ups, what was done. Nothing that tells who did it.

Model, method, searches, drawn constraints, checks and the ending differ
between methods, so none of them is here. Judges see no more either.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agents.contract import JSON, Step
from agents.serialise import from_json
from bench.models import Task, Trajectory

Fields = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class LookUp:
    """One tool call. ``columns`` and ``rows``: items that came back; ``answer``: what came else."""

    tool: str
    arguments: Fields
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Call:
    """An accepted committing call. ``item``: the id of the item that it chose, with the item's fields."""

    tool: str
    arguments: Fields
    item: str
    item_fields: Fields


@dataclass(frozen=True, slots=True)
class Transcript:
    """``text`` or ``calls`` is what was done; both empty where nothing was."""

    request: str
    as_of: datetime
    domain: str
    scenario: str
    look_ups: tuple[LookUp, ...]
    text: str
    calls: tuple[Call, ...]


def transcript(trajectory: Trajectory) -> Transcript:
    """Reads the stored trajectory; expects ``unit__task__scenario__domain`` to be selected."""
    task = trajectory.unit.task
    course = from_json(trajectory.data)
    public = {tool["name"] for tool in task.tools}
    return Transcript(
        request=task.request,
        as_of=task.as_of,
        domain=task.scenario.domain.name,
        scenario=task.scenario.name,
        look_ups=tuple(_look_up(step) for step in course.steps if _is_look_up(step, public)),
        text=course.action.text if course.action else "",
        calls=tuple(_call(task, call) for call in trajectory.committed),
    )


def _is_look_up(step: Step, public: set[str]) -> bool:
    """Calls of the task's own tools only: a tool that one method brings along would give it away."""
    return step.kind == "tool" and step.data.get("tool") in public and not step.data.get("accepted")


def _look_up(step: Step) -> LookUp:
    content = step.data.get("content") or {}
    items = [item for item in content.get("items", []) if isinstance(item, Mapping)]
    seen = {str(key) for item in items for key in item}
    columns = tuple(sorted(seen, key=lambda name: (name != "id", name != "title", name)))
    rows = tuple(tuple(_plain(item.get(column)) for column in columns) for item in items)
    answer = "" if items else "; ".join(f"{key}: {value}" for key, value in _fields(content))
    return LookUp(step.data["tool"], _fields(step.data.get("arguments") or {}), columns, rows, answer)


def _call(task: Task, call: JSON) -> Call:
    chosen = str(call["arguments"].get(task.world.get("item_argument", ""), ""))
    items = (item for item in task.world.get("items", []) if str(item["id"]) == chosen)
    return Call(call["tool"], _fields(call["arguments"]), chosen, _fields(next(items, {})))


def _fields(values: Mapping[str, Any]) -> Fields:
    ordered = sorted(values.items(), key=lambda pair: pair[0] != "title")
    return tuple((str(key).replace("_", " "), _plain(value)) for key, value in ordered)


def _plain(value: Any) -> str:
    """A value as a person would write it."""
    if value is None:
        return "not given"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_plain(item) for item in value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping) else str(value)
