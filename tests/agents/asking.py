"""What the tests of the client ask, and answers of a server."""

from __future__ import annotations

from agents.contract import (
    ToolSpec,
)
from tests.agents.support import completion

ASK = [{"role": "user", "content": "Which seat?"}]
SEAT = {
    "type": "object",
    "properties": {"seat": {"enum": ["aisle", "window"]}},
    "required": ["seat"],
    "additionalProperties": False,
}
BOOK = ToolSpec("book", "Books a seat.", SEAT, commits=True)
OK = (200, {}, completion("fine"))


def error(status, message="no", headers=None, **more):
    return status, headers or {}, {"error": {"message": message, **more}}
