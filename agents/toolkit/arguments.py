"""The committing calls' arguments: the schema that a model fills, and what code can check without one."""

from __future__ import annotations

import re
from collections.abc import Sequence

import jsonschema

from agents.contract import JSON, TaskInput, ToolSpec

_ID_NAME = re.compile(r"(^|_)id$")


def committing_tools(task: TaskInput) -> tuple[ToolSpec, ...]:
    """The task's committing tools, in the order in which they are called. Raises ValueError where there is none."""
    tools = tuple(tool for tool in task.tools if tool.commits)
    if not tools:
        raise ValueError(f"task {task.task_id!r} has no committing tool; it needs one or more")
    return tools


def as_one(tools: Sequence[ToolSpec]) -> ToolSpec:
    """Several tools as one that takes the arguments of all. Raises ValueError for an argument that two of them have."""
    if len(tools) == 1:
        return tools[0]
    properties: JSON = {}
    for tool in tools:
        if twice := properties.keys() & tool.parameters["properties"].keys():
            raise ValueError(f"argument {min(twice)!r} of {tool.name!r} is named in another committing tool too")
        properties |= tool.parameters["properties"]
    required = [name for tool in tools for name in tool.parameters.get("required", [])]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return ToolSpec(" and ".join(tool.name for tool in tools), "", schema, commits=True)


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


def described(arguments: JSON, tools: Sequence[ToolSpec], items: Sequence[JSON]) -> str:
    """Each call as lines ``name = value``, and the item chosen in full."""
    lines = []
    for tool in tools:
        lines.append(f"tool = {tool.name}")
        lines.extend(f"{name} = {value}" for name, value in cleaned(arguments, tool).items())
        for name in item_arguments(tool):
            chosen = str(arguments.get(name))
            lines.extend(f"item {name} = {_pairs(item)}" for item in items if str(item.get("id")) == chosen)
    return "\n".join(lines)


def _pairs(item: JSON) -> str:
    return ", ".join(f"{key}: {value}" for key, value in item.items())
