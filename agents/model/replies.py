"""Reads one chat completion: text, tool calls, the object of a schema, or what is wrong with it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from agents.contract import JSON, Cut, ToolCall
from agents.model.structured import Mode, NoObject, extract_object, read_json
from agents.toolkit.reasoning import without_reasoning

AT_LIMIT = "length"  # the finish reason of a reply that used up its tokens


@dataclass(frozen=True, slots=True)
class Read:
    """What one answer holds; ``problem`` says why it can't be used, "" where it can.

    ``raw`` is what the model wrote, ``text`` the same without its reasoning.
    """

    raw: str
    text: str
    tool_calls: tuple[ToolCall, ...]
    parsed: JSON | None
    finish_reason: str
    problem: str
    cut: Cut


def read_reply(response: JSON, *, schema: JSON | None, mode: Mode | None, max_tokens: int) -> Read:
    """Reads one chat completion. Never raises for what a server may send; see ``Read.problem``."""
    choices = response.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    said = choice.get("message")
    message: JSON = said if isinstance(said, dict) else {}
    raw, finish = _text(message.get("content")), str(choice.get("finish_reason") or "stop")
    text = without_reasoning(raw)
    calls, problem = _tool_calls(message.get("tool_calls"), at_token_limit=finish == AT_LIMIT)
    if mode == "tool":
        arguments = _arguments_text(message)
        raw, text, calls, problem = arguments or raw, arguments or text, (), ""
    if not (problem or calls or text.strip()):
        problem = "it is empty"
    parsed = None
    if not problem and schema is not None and not calls:
        parsed, problem = _parse(text, schema)
    if problem and finish == AT_LIMIT:
        problem += f"; it was cut off at {max_tokens} tokens, so use fewer"
    cut = Cut(len(raw) - len(text), finish == AT_LIMIT)
    return Read(raw, text, calls, parsed, finish, problem, cut)


def is_completion(response: JSON) -> bool:
    """Whether a body with status 200 is an answer. Routers put errors of the server behind them into such bodies."""
    return isinstance(response.get("choices"), list) and not response.get("error")


def _parse(text: str, schema: JSON) -> tuple[JSON | None, str]:
    try:
        return extract_object(text, schema), ""
    except NoObject as error:
        return None, str(error)


def _text(content: Any) -> str:
    """Content is a string, null, or a list of parts of which the text ones count."""
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _tool_calls(items: Any, *, at_token_limit: bool) -> tuple[tuple[ToolCall, ...], str]:
    """The calls, or none and the problem with the first that can't be read."""
    calls = []
    for number, item in enumerate(items if isinstance(items, list) else []):
        function = item.get("function") if isinstance(item, dict) else None
        if not isinstance(function, dict):
            return (), f"tool call {number} has no function"
        arguments = function.get("arguments") or {}
        try:
            parsed = arguments if isinstance(arguments, dict) else read_json(arguments)
        except (TypeError, ValueError, RecursionError) as error:
            return (), f"the arguments of tool call {number} are not JSON ({error})"
        if not isinstance(parsed, dict):
            return (), f"the arguments of tool call {number} are not a JSON object"
        call_id, name = str(item.get("id") or f"call_{number}"), str(function.get("name", ""))
        calls.append(ToolCall(call_id, name, parsed, at_token_limit))
    return tuple(calls), ""


def _arguments_text(message: JSON) -> str:
    """The raw arguments of the first call, for the forced tool that carries a schema's answer."""
    items = message.get("tool_calls")
    first = items[0] if isinstance(items, list) and items else None
    function = first.get("function") if isinstance(first, dict) else None
    arguments = function.get("arguments") if isinstance(function, dict) else None
    return json.dumps(arguments) if isinstance(arguments, dict) else _text(arguments)
