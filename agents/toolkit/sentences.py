"""A text cut into sentences: the only place that does, so that a number means the same sentence to all."""

from __future__ import annotations

import re

_PARAGRAPH = re.compile(r"\n\s*\n")
_END = re.compile(r"(?<=[.!?])\s+")

Line = tuple[str, ...]  # of sentences


def paragraphs(text: str) -> tuple[tuple[Line, ...], ...]:
    """Paragraphs of lines of sentences; a line always ends a sentence. Nothing in it is empty."""
    return tuple(
        tuple(tuple(_END.split(line.strip())) for line in paragraph.split("\n") if line.strip())
        for paragraph in _PARAGRAPH.split(text)
        if paragraph.strip()
    )


def sentences(text: str) -> tuple[str, ...]:
    """All sentences in order; ``Part.sentence(1)`` is the first."""
    return tuple(said for paragraph in paragraphs(text) for line in paragraph for said in line)
