"""Native tool calling: the stand-in looks things up first, then makes the committing call, then stops."""

from __future__ import annotations

import json
import re
from typing import Any

from bench.reader.filling import fill_object
from bench.reader.reading import Prompt
from bench.reader.scoring import Embed
from bench.reader.writing import draft

SEARCHES = 2
_READS = re.compile(
    r"^(?:search|list|find|get|look\w*|show|check|compare|browse|fetch|read)_|_details$|_info$|_options$"
)


def next_call(prompt: Prompt, tools: list[dict[str, Any]], embed: Embed) -> list[dict[str, Any]]:
    """The calls of this turn; none once a tool has confirmed."""
    if prompt.confirmed:
        return []
    history = [tool for tool in tools if tool["name"] == "search_history"]
    done = prompt.answered.count("search_history")
    if history and done < SEARCHES:
        return [call("search_history", {"query": _query(prompt, tools, done)}, len(prompt.answered))]
    for tool in tools:
        tries = prompt.answered.count(tool["name"])
        if reads(tool) and tool not in history and not needs_item(tool) and not prompt.items and tries < 2:
            arguments = {} if tries else fill_object(tool.get("parameters", {}), prompt, embed)
            return [call(tool["name"], arguments, len(prompt.answered))]
    acting = [tool for tool in tools if not reads(tool)]
    return (
        [call(acting[-1]["name"], commit_arguments(acting[-1], prompt, embed), len(prompt.answered))] if acting else []
    )


def commit_arguments(tool: dict[str, Any], prompt: Prompt, embed: Embed) -> dict[str, Any]:
    """The call's arguments; a tool that takes one ``text`` gets a draft."""
    schema = tool.get("parameters", {})
    if set(schema.get("properties", {})) == {"text"}:
        return {"text": draft(prompt, embed)}
    return fill_object(schema, prompt, embed)


def look_ups(prompt: Prompt, embed: Embed) -> list[dict[str, Any]]:
    """Look-ups in the text protocol: those that need no item while there is none, then no more."""
    if prompt.items:
        return []
    again = bool(prompt.sections.get("Calls so far"))
    return [
        {"tool": tool["name"], "arguments": {} if again else fill_object(tool.get("parameters", {}), prompt, embed)}
        for tool in prompt.tools
        if not needs_item(tool)
    ]


def call(name: str, arguments: dict[str, Any], number: int) -> dict[str, Any]:
    """A tool call in the OpenAI shape."""
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {"id": f"call_{number}", "type": "function", "function": function}


def reads(tool: dict[str, Any]) -> bool:
    return bool(_READS.search(tool["name"]))


def needs_item(tool: dict[str, Any]) -> bool:
    names = tool.get("parameters", {}).get("properties", {})
    return any(name == "id" or name.endswith("_id") for name in names)


def _query(prompt: Prompt, tools: list[dict[str, Any]], done: int) -> str:
    """First the request, then what the committing call has to know."""
    if done == 0:
        return prompt.request
    schemas = [
        schema
        for tool in tools
        if not reads(tool)
        for schema in tool.get("parameters", {}).get("properties", {}).values()
    ]
    return " ".join(str(schema.get("description", "")) for schema in schemas)[:300] or prompt.request
