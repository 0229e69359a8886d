"""The committing call's arguments: the schema that a model fills, and what code can check without one."""

from __future__ import annotations

import re
from collections.abc import Sequence

import jsonschema

from agents.contract import JSON, TaskInput, ToolSpec

_ID_NAME = re.compile(r"(^|_)id$")


def committing_tool(task: TaskInput) -> ToolSpec:
    """The task's committing tool. Raises ValueError where there is not exactly one."""
    tools = [tool for tool in task.tools if tool.commits]
    if len(tools) != 1:
        raise ValueError(f"task {task.task_id!r} has {len(tools)} committing tools; it needs exactly one")
    return tools[0]


def read_only_tools(task: TaskInput) -> tuple[ToolSpec, ...]:
    return tuple(tool for tool in task.tools if not tool.commits)


def wrapped(tool: ToolSpec) -> JSON:
    """A reply schema with the tool's own schema under ``arguments``."""
    return {
        "type": "object",
        "properties": {"arguments": tool.parameters},
        "required": ["arguments"],
        "additionalProperties": False,
    }


def cleaned(arguments: JSON, tool: ToolSpec) -> JSON:
    """Arguments that the schema knows; a null that it does not allow is left out."""
    properties: JSON = tool.parameters.get("properties", {})
    return {
        name: value
        for name, value in arguments.items()
        if name in properties and (value is not None or allows_null(properties[name]))
    }


def allows_null(schema: JSON) -> bool:
    kind = schema.get("type", "null")
    return kind == "null" or (isinstance(kind, list) and "null" in kind)


def open_arguments(arguments: JSON, tool: ToolSpec) -> tuple[str, ...]:
    """Names of arguments left null or, where optional, left out."""
    names = tool.parameters.get("properties", {})
    return tuple(name for name in names if arguments.get(name) is None)


def problems(arguments: JSON, tool: ToolSpec, items: Sequence[JSON]) -> tuple[str, ...]:
    """What is wrong with the arguments, one sentence each; empty where nothing is.

    Checks the schema (types, enums, required) and that an id stands among the items looked up.
    """
    validator = jsonschema.Draft202012Validator(tool.parameters, format_checker=jsonschema.FormatChecker())
    found = [
        f"{'.'.join(str(part) for part in error.path) or tool.name}: {error.message}"
        for error in sorted(validator.iter_errors(arguments), key=lambda error: list(map(str, error.path)))
    ]
    known = {str(item.get("id")) for item in items}
    for name in item_arguments(tool):
        value = arguments.get(name)
        if items and value is not None and str(value) not in known:
            found.append(f"{name}: {value!r} is not the id of an item that was looked up")
    return tuple(found)


def item_arguments(tool: ToolSpec) -> tuple[str, ...]:
    """Names of the arguments that name an item by its id."""
    return tuple(name for name in tool.parameters.get("properties", {}) if _ID_NAME.search(name))


def described(arguments: JSON, tool: ToolSpec, items: Sequence[JSON]) -> str:
    """The call as lines ``name = value``, and the item chosen in full."""
    lines = [f"tool = {tool.name}", *(f"{name} = {value}" for name, value in arguments.items())]
    for name in item_arguments(tool):
        lines.extend(
            f"item {name} = {_pairs(item)}" for item in items if str(item.get("id")) == str(arguments.get(name))
        )
    return "\n".join(lines)


def _pairs(item: JSON) -> str:
    return ", ".join(f"{key}: {value}" for key, value in item.items())
