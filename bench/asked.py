"""What stands in an address: numbers (ASCII digits, no larger than an id can be), and words of a list."""

from __future__ import annotations

import re
from collections.abc import Collection

_DIGITS = re.compile(r"[0-9]{1,18}", re.ASCII)


def number(text: str) -> int | None:
    """The number that the text is, or None: ``int`` would also take ``３``, ``1_0`` and a million digits."""
    return int(text) if _DIGITS.fullmatch(text) else None


def one_of(allowed: Collection[str], asked: str) -> str:
    """What was asked for where it is allowed, else ""."""
    return asked if asked in allowed else ""


class IdConverter:
    """``<id:pk>`` in an address; a longer number is no address of ours."""

    regex = r"[0-9]{1,18}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(value)
