"""The simulated reader's server with known answers, for tests of the wire.

Answers the tool call that tool_choice forces, ``{"n": <length of the last message>}`` for a schema,
and else the last message's text.
"""

from __future__ import annotations

from typing import Any

from bench.reader.faults import Dials
from bench.reader.server import read_arguments, run


def answer(body: dict[str, Any], dials: Dials) -> dict[str, Any]:
    text = str(body["messages"][-1]["content"])
    if isinstance(body.get("tool_choice"), dict):
        name = body["tool_choice"]["function"]["name"]
        function = {"name": name, "arguments": '{"seat": "aisle"}'}
        return {"content": None, "tool_calls": [{"id": "call_0", "type": "function", "function": function}]}
    if body.get("response_format"):
        return {"content": f'{{"n": {len(text)}}}'}
    if text == "dials":
        return {"content": f"{dials.understands:g} {dials.keeps:g} {dials.errs:g}"}
    return {"content": text}


if __name__ == "__main__":
    run(answer, read_arguments())
