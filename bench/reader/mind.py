"""What the offline stand-in says. It reads the prompt and nothing else, and says the same every time.

It has no access to cue texts, gold labels, the catalogue or the database. It shows that information
flows through the benchmark; it does not show how good a language model is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bench.reader.calling import call, look_ups, next_call
from bench.reader.checking import checks
from bench.reader.filling import fill_object
from bench.reader.judging import judge
from bench.reader.noticing import consequences, constraints
from bench.reader.reading import Prompt, read
from bench.reader.scoring import Embed, cosines
from bench.reader.topics import topics
from bench.reader.writing import write

STEPS = ["Look up what is on offer.", "Choose what meets every constraint.", "Check it once more and act."]


def answer(body: Mapping[str, Any], embed: Embed) -> dict[str, Any]:
    """The assistant message for a chat completion request: ``{"role", "content", "tool_calls"}``.

    ``embed(texts, "query" | "passage")`` gives unit vectors, one a row.
    """
    tools = [dict(tool["function"]) for tool in body.get("tools") or []]
    prompt = read(body["messages"], body.get("tools") or [])
    forced = body.get("tool_choice")
    if isinstance(forced, dict):
        tool = next(tool for tool in tools if tool["name"] == forced["function"]["name"])
        filled = by_schema(tool.get("parameters", {}), prompt, body, embed)
        return _message(None, [call(tool["name"], filled, 0)])
    schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
    if schema is not None:
        return _message(json.dumps(by_schema(schema, prompt, body, embed), ensure_ascii=False), [])
    if tools and forced != "none":
        calls = next_call(prompt, tools, embed)
        return _message(None if calls else "Done.", calls)
    if not prompt.sections:
        return _message("I can help with that once I know the request and the evidence.", [])
    return _message(write(prompt, embed), [])


def by_schema(schema: Mapping[str, Any], prompt: Prompt, body: Mapping[str, Any], embed: Embed) -> dict[str, Any]:
    """An object for the schema. Replies that the agents ask for are known by their one property; others are filled."""
    known: dict[str, Callable[[], Any]] = {
        "topics": lambda: topics(prompt, int(schema["properties"]["topics"].get("maxItems", 12)), embed),
        "constraints": lambda: _constraints(schema, prompt, embed),
        "calls": lambda: look_ups(prompt, embed),
        "checks": lambda: checks(prompt),
        "verdicts": lambda: judge(str(body.get("model", "")), _asked(body), embed),
    }
    names = list(schema.get("properties", {}))
    if len(names) == 1 and names[0] in known:
        return {names[0]: known[names[0]]()}
    if set(names) == {"constraints", "steps"}:
        return {"constraints": _by_nearness(prompt, embed), "steps": STEPS}
    return fill_object(schema, prompt, embed)


def _constraints(schema: Mapping[str, Any], prompt: Prompt, embed: Embed) -> list[dict[str, Any]]:
    """Constraints drawn from evidence; where some stand in the prompt already, their consequences."""
    rows = consequences(prompt, embed) if "Constraints" in prompt.sections else constraints(prompt, embed)
    fields = schema["properties"]["constraints"]["items"]["properties"]
    return [{name: value for name, value in row.items() if name in fields} for row in rows]


def _by_nearness(prompt: Prompt, embed: Embed) -> list[str]:
    """All constraint ids, the nearest to the request first."""
    labels = [label for label, _ in prompt.constraints]
    near = cosines([prompt.request], [text for _, text in prompt.constraints], embed, ("query", "query"))[0]
    return [labels[int(number)] for number in np.argsort(-near, kind="stable")]


def _asked(body: Mapping[str, Any]) -> str:
    return "\n".join(str(message.get("content") or "") for message in body["messages"] if message["role"] == "user")


def _message(content: str | None, calls: list[dict[str, Any]]) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": calls}
