"""Which options a text speaks for, by what the catalogue says of them."""

from __future__ import annotations

from collections.abc import Sequence

from bench.reader.knowledge import Option, dimensions, sentence


def told(text: str, among: Sequence[str]) -> list[Option]:
    """The options whose own sentence stands in the text; read back as they were written."""
    return [
        (reference, value.slug)
        for reference in among
        for value in dimensions()[reference].values
        if sentence(reference, value.slug) in text
    ]
