"""The stand-in's server with a mind of known answers, for tests of the wire.

Answers the tool call that tool_choice forces, ``{"n": <tokens in the last word>}`` for a schema,
and else the last message's text; "similar: a|b" is answered with the cosine of a and b.
"""

from __future__ import annotations

from typing import Any

from bench.reader.server import Embed, read_arguments, run


def answer(body: dict[str, Any], embed: Embed) -> dict[str, Any]:
    text = str(body["messages"][-1]["content"])
    if isinstance(body.get("tool_choice"), dict):
        name = body["tool_choice"]["function"]["name"]
        function = {"name": name, "arguments": '{"seat": "aisle"}'}
        return {"content": None, "tool_calls": [{"id": "call_0", "type": "function", "function": function}]}
    if body.get("response_format"):
        return {"content": f'{{"n": {len(text)}}}'}
    if text.startswith("similar: "):
        first, second = embed(text.removeprefix("similar: ").split("|"), "passage")
        return {"content": f"{float(first @ second):.6f}"}
    return {"content": text}


if __name__ == "__main__":
    run(answer, read_arguments())
