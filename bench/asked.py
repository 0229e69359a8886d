"""Numbers that stand in an address: ASCII digits, and no larger than an id can be."""

from __future__ import annotations

import re

_DIGITS = re.compile(r"[0-9]{1,18}", re.ASCII)


def number(text: str) -> int | None:
    """The number that the text is, or None: ``int`` would also take ``３``, ``1_0`` and a million digits."""
    return int(text) if _DIGITS.fullmatch(text) else None


class IdConverter:
    """``<id:pk>`` in an address; a longer number is no address of ours."""

    regex = r"[0-9]{1,18}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(value)
