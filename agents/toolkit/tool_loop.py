"""Turns of native function calling: what is sent back to the model, and the tool that hands over a text."""

from __future__ import annotations

import json

from agents.contract import Message, Reply, ToolCall, ToolSpec

SUBMIT = ToolSpec(
    "submit_text",
    "Hands over the finished text.",
    {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "The text, ready to use"}},
        "required": ["text"],
    },
    commits=True,
)


def assistant_message(reply: Reply) -> Message:
    """The model's turn in the OpenAI shape, to be sent back with the next request."""
    calls = [
        {
            "id": call.call_id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
        }
        for call in reply.tool_calls
    ]
    return {"role": "assistant", "content": reply.text or None, "tool_calls": calls}


def tool_message(call: ToolCall, content: str) -> Message:
    return {"role": "tool", "tool_call_id": call.call_id, "content": content}
