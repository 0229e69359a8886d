"""A scripted model in process: it answers each kind of prompt by its form, and says only what a test can foresee."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agents.contract import JSON, BadReply, Reply, ToolCall, ToolSpec, Usage

Answer = Reply | JSON | str | Callable[[str], Any]
_LABEL = re.compile(r"^\[(\w+)\] ", re.MULTILINE)


class Player:
    """``replies``: kind of prompt -> answers in turn, or one callable; what is not scripted is answered plainly.

    ``prompts`` are (kind, text) of every call, ``asked`` the calls' stages.
    """

    def __init__(self, **replies: list[Answer] | Callable[[str], Any]) -> None:
        self.replies = replies
        self.prompts: list[tuple[str, str]] = []
        self.stages: list[str] = []

    def complete(self, messages: Sequence[Mapping[str, Any]], *, stage: str, **options: Any) -> Reply:
        schema, tools = options.get("schema"), options.get("tools") or ()
        prompt = "\n".join(str(message.get("content") or "") for message in messages)
        kind = kind_of(schema, tools, prompt)
        self.prompts.append((kind, prompt))
        self.stages.append(stage)
        said = self._said(kind, prompt, schema, tools)
        if isinstance(said, Reply):
            return said
        if isinstance(said, str):
            return Reply(said, usage=Usage(1, 10, 5))
        return Reply(json.dumps(said), said, usage=Usage(1, 10, 5))

    def _said(self, kind: str, prompt: str, schema: JSON | None, tools: Sequence[ToolSpec]) -> Any:
        scripted = self.replies.get(kind)
        if callable(scripted):
            return scripted(prompt)
        if scripted:
            said = scripted.pop(0)
            return said(prompt) if callable(said) else said
        if scripted is not None:
            raise BadReply(f"nothing more is scripted for {kind}")
        return plain_answer(kind, prompt, schema, tools)

    def of(self, kind: str) -> list[str]:
        """The prompts of one kind."""
        return [prompt for found, prompt in self.prompts if found == kind]


def kind_of(schema: JSON | None, tools: Sequence[ToolSpec], prompt: str) -> str:
    """aspects, queries, notes, constraints, consequences, scopes, plan, look_up, arguments, text, checks, ..."""
    names = set((schema or {}).get("properties", {}))
    if names == {"constraints"}:
        return "constraints" if "## Thoughts" in prompt else "consequences"
    named = {"aspects": "aspects", "steps": "plan", "calls": "look_up"}
    found = next((kind for name, kind in named.items() if name in names), "") or next(iter(names), "")
    if found or tools:
        return found or "tools"
    if "\n## Answer\nNotes" in prompt:
        return "notes" if "## Request" in prompt else "profile"
    return "text"


def row(evidence: Sequence[str] = ("e1",), **changes: Any) -> JSON:
    """A constraint as a model writes it."""
    plain = {
        "about": "where to sit", "value": "aisle", "text": "Sits on the aisle.", "polarity": "for", "kind": "trait",
        "scope": "", "valid_from": "", "valid_until": "", "strength": 0.8, "evidence": list(evidence), "counter": "",
    }  # fmt: skip
    return {**plain, **changes}


def section(prompt: str, title: str) -> str:
    """The lines under a heading, of the last such section; "" where there is none or it says "none"."""
    body = prompt.rpartition(f"\n## {title}\n")[2] if f"\n## {title}\n" in prompt else ""
    text = body.split("\n## ", 1)[0].strip()
    return "" if text == "none" else text


def labels(prompt: str, title: str) -> list[str]:
    return _LABEL.findall(section(prompt, title))


def plain_answer(kind: str, prompt: str, schema: JSON | None, tools: Sequence[ToolSpec]) -> Any:
    answers: dict[str, Callable[[], Any]] = {
        "aspects": lambda: {"when": "2026-03-13", "aspects": [
            {"name": "where to sit", "behaviours": ["Took an aisle place.", "Looked out of the window."]},
            {"name": "what to eat", "behaviours": ["Only soup and soft mash.", "Curry with hot chillies."]},
        ]},
        "queries": lambda: {"queries": []},
        "notes": lambda: "The first line shows something.",
        "constraints": lambda: {"constraints": [row()]},
        "consequences": lambda: {"constraints": []},
        "scopes": lambda: {"scopes": [{"id": label, "holds": "no"} for label in labels(prompt, "Scopes")]},
        "points": lambda: {"points": [{"text": "Sits on the aisle.", "evidence": ["e1"]}]},
        "plan": lambda: {"constraints": labels(prompt, "Constraints"), "steps": ["Act."]},
        "look_up": lambda: {"calls": _look_ups(prompt)},
        "arguments": lambda: {"arguments": fill((schema or {})["properties"]["arguments"], _items(prompt))},
        "checks": lambda: {"checks": [_met(label, prompt) for label in labels(prompt, "Checks")]},
        "profile": lambda: "Sits on the aisle.",
        "text": lambda: "Soup on Monday. Mash on Tuesday.",
        "tools": lambda: _call(prompt, tools),
    }  # fmt: skip
    return answers[kind]()


def fill(schema: JSON, items: Sequence[JSON] = ()) -> JSON:
    """Arguments that the schema allows: the first of what is offered, and the first item's id."""

    def value(name: str, field: JSON) -> Any:
        if "enum" in field:
            return field["enum"][0]
        if name.endswith("id") and items:
            return items[0]["id"]
        if field.get("format") == "date":
            return "2026-03-13"
        return {"integer": 2, "number": 1.0, "boolean": True}.get(field.get("type", ""), "Leeds")

    fields = schema["properties"]
    return {name: value(name, fields[name]) for name in schema.get("required", fields)}


def _items(prompt: str) -> list[JSON]:
    return [json.loads(line) for line in section(prompt, "Items").splitlines() if line.startswith("{")]


def _look_ups(prompt: str) -> list[JSON]:
    if _items(prompt):
        return []
    tools = [json.loads(line) for line in section(prompt, "Tools").splitlines()]
    return [{"tool": tool["name"], "arguments": fill(tool["parameters"])} for tool in tools if not tool["commits"]]


def _met(label: str, prompt: str) -> JSON:
    first = section(prompt, "Draft").splitlines()[-1].removeprefix("> ").partition(" = ")
    return {"id": label, "met": "yes", "where": first[0] if first[1] else "1"}


def _call(prompt: str, tools: Sequence[ToolSpec]) -> Reply:
    """Searches once where it can, then looks up, then commits."""
    searching = next((tool for tool in tools if tool.name == "search_history"), None)
    if searching is not None and "[e1]" not in prompt:
        return Reply("", tool_calls=(ToolCall("1", searching.name, {"query": "aisle or window"}),))
    reading = next((tool for tool in tools if not tool.commits and tool is not searching), None)
    found = re.search(r'"id": "(\w[\w-]*)"', prompt)
    if reading is not None and not found:
        return Reply("", tool_calls=(ToolCall("2", reading.name, fill(reading.parameters)),))
    items = [{"id": found[1]}] if found else []
    last = next(tool for tool in tools if tool.commits)
    return Reply("", tool_calls=(ToolCall("3", last.name, fill(last.parameters, items)),), usage=Usage(1, 10, 5))
