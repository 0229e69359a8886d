"""Structured replies: asking for a schema, finding the object in a reply, repairing a bad one."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, Literal

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from agents.contract import JSON, Message
from agents.toolkit.reasoning import without_reasoning
from agents.toolkit.rendering import render

Mode = Literal["json_schema", "tool", "prompt"]

REPLY_TOOL = "reply"


class NoObject(ValueError):
    """The text holds no JSON object, or one that is cut off. The message goes into the repair."""


def extract_object(text: str, schema: JSON | None = None) -> JSON:
    """The one JSON object in ``text`` that meets ``schema``; prose, fences and thinking around it are passed over.

    Raises NoObject with the reason: none, several different ones, a cut-off one, a key given twice. NaN and Infinity
    are not JSON.
    """
    if not _is_one_value(text):  # a mark within a whole object is somebody's text
        text = without_reasoning(text)
    start, problem = text.find("{"), "it holds no JSON object"
    fitting: list[JSON] = []
    while start >= 0:
        end = _balanced_end(text, start)
        if end < 0:
            raise NoObject("its JSON object is cut off")
        try:
            value = read_json(text[start:end])
        except (ValueError, RecursionError) as error:
            problem = f"its JSON can't be read ({error})"
        else:
            misfit = schema_problem(value, schema) if schema is not None else ""
            if misfit:
                problem = misfit
            elif value not in fitting:
                fitting.append(value)
        start = text.find("{", end)
    if len(fitting) > 1:
        raise NoObject(f"it holds {len(fitting)} different JSON objects; give the one that is the answer")
    if not fitting:
        raise NoObject(problem)
    return fitting[0]


def _is_one_value(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def read_json(text: str) -> Any:
    """The value that ``text`` is. Raises ValueError (RecursionError for deep ones); what is no finite number and a key
    given twice too.
    """
    return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_no_key_twice)


def _finite(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError(f"{digits[:20]} is no number that can be kept")
    return number


def _no_key_twice(pairs: list[tuple[str, object]]) -> JSON:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} is given twice")
    return found


def _balanced_end(text: str, start: int) -> int:
    """Index after the brace that closes the one at ``start``; -1 where none does. Strings may hold braces."""
    depth, in_string, escaped = 0, False, False
    for index in range(start, len(text)):
        char = text[index]
        if in_string:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                in_string = False
        elif char == '"':
            in_string = True
        elif char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                return index + 1
    return -1


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def schema_problem(value: JSON, schema: JSON) -> str:
    """What is wrong with ``value``, in one line; "" where it satisfies the schema."""
    error = best_match(Draft202012Validator(schema).iter_errors(value))
    if error is None:
        return ""
    return f"at {error.json_path}: {error.message[:400]}"


def allows_strict(schema: object) -> bool:
    """True where every object of the schema is closed and requires all it has, as strict mode asks."""
    if isinstance(schema, list):
        return all(allows_strict(part) for part in schema)
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object" or "properties" in schema:
        names = set(schema.get("properties", {}))
        if schema.get("additionalProperties") is not False or names != set(schema.get("required", [])):
            return False
    return all(allows_strict(part) for part in schema.values())


def ask_for_schema(request: JSON, schema: JSON, mode: Mode, *, spell_out: bool = False) -> JSON:
    """A copy of ``request`` that asks for ``schema`` in the way ``mode`` names.

    ``spell_out`` puts the schema into the last message too: for repairs, where
    the server may have ignored the mode.
    """
    request = dict(request)
    if mode == "json_schema":
        wanted = {"name": REPLY_TOOL, "schema": schema, "strict": allows_strict(schema)}
        request["response_format"] = {"type": "json_schema", "json_schema": wanted}
    elif mode == "tool":
        function = {"name": REPLY_TOOL, "description": "Gives the answer.", "parameters": schema}
        request["tools"] = [{"type": "function", "function": function}]
        request["tool_choice"] = {"type": "function", "function": {"name": REPLY_TOOL}}
    if mode == "prompt" or spell_out:
        text = render("llm/schema", schema=json.dumps(schema, ensure_ascii=False))
        request["messages"] = _with_user_text(request["messages"], text)
    return request


def repair_messages(messages: Sequence[Message], raw: str, problem: str) -> list[JSON]:
    """``messages``, the bad reply and what is wrong with it. An empty one is not shown: servers refuse it."""
    shown: list[JSON] = [dict(message) for message in messages]
    if raw.strip():
        shown.append({"role": "assistant", "content": raw})
    return _with_user_text(shown, render("llm/repair", problem=problem))


def without_system_role(messages: Sequence[JSON]) -> list[JSON]:
    """``messages`` with the text of all system messages at the head of the first user message."""
    told = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
    rest = [dict(message) for message in messages if message["role"] != "system"]
    if not told:
        return rest
    first = next((message for message in rest if message["role"] == "user"), None)
    if first is None:
        return [{"role": "user", "content": told}, *rest]
    first["content"] = f"{told}\n\n{first['content']}"
    return rest


def _with_user_text(messages: Sequence[Message], text: str) -> list[JSON]:
    """Adds to the last message where that is the user's: some chat templates refuse two in a row."""
    copies = [dict(message) for message in messages]
    last = copies[-1] if copies else {}
    if last.get("role") == "user" and isinstance(last.get("content"), str):
        last["content"] = f"{last['content']}\n\n{text}"
    else:
        copies.append({"role": "user", "content": text})
    return copies
