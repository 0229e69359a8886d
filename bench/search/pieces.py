"""A long text in pieces that are embedded one by one; a short one is its own single piece."""

from __future__ import annotations

import re

# The embedded model reads 512 tokens, some 2,000 characters, and what it reads it averages. See docs/retrieval.md.
PIECE = 500

_ENDS = re.compile(r"(?<=\n)|(?<=[.!?…])\s+|(?<=[。！？])")


def pieces_of(text: str) -> list[str]:
    """Neighbouring lines and sentences together, at most PIECE characters a piece; longer ones are cut at spaces."""
    if len(text) <= PIECE:
        return [text]
    found: list[str] = []
    for part in (short for sentence in _ENDS.split(text) for short in _cut(sentence.strip())):
        if found and len(found[-1]) + 1 + len(part) <= PIECE:
            found[-1] = f"{found[-1]} {part}"
        else:
            found.append(part)
    return found or [text[:PIECE]]


def _cut(sentence: str) -> list[str]:
    """At most PIECE characters each, cut at spaces where there are any."""
    parts: list[str] = []
    while len(sentence) > PIECE:
        space = sentence.rfind(" ", 1, PIECE + 1)
        end = space if space > 0 else PIECE
        parts.append(sentence[:end])
        sentence = sentence[end:].strip()
    return [*parts, sentence] if sentence else parts
