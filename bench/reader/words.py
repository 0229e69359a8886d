"""Which options a text speaks for, by what the catalogue says of them.

The rule for words that are not the reader's own: a word is telling within a dimension where the catalogue uses it
for one option only; an option is spoken for where more of the telling words are its own than all others' together.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

from bench.catalogue.words import content_stems
from bench.reader.knowledge import Option, dimensions, said_of, sentence


def told(text: str, among: Sequence[str]) -> list[Option]:
    """The options that a constraint or a note states: those whose own sentence stands in it, else the likeliest one."""
    own = [option for reference in among for option in _stated(text, reference)]
    if own:
        return own
    named = [d for d in among if text.casefold().startswith(f"{dimensions()[d].name.casefold()}:")]
    votes = Counter({(d, v): count for d in named or among for v, count in spoken_for(text, d).items()})
    best = [option for option, count in votes.items() if count == max(votes.values())]
    return best if len(best) == 1 else []


def _stated(text: str, reference: str) -> list[Option]:
    values = dimensions()[reference].values
    return [(reference, value.slug) for value in values if sentence(reference, value.slug) in text]


def spoken_for(text: str, dimension: str) -> Counter[str]:
    """The option with more telling words than all others together, and how many; nothing where there is none."""
    votes = Counter(telling(dimension)[word] for word in words(text) & telling(dimension).keys())
    return Counter({value: count for value, count in votes.items() if 2 * count > votes.total()})


@cache
def telling(dimension: str) -> dict[str, str]:
    """Word -> the one option for which the catalogue uses it."""
    users: dict[str, set[str]] = {}
    for value in dimensions()[dimension].values:
        for text in said_of(dimension, value.slug):
            for word in words(text):
                users.setdefault(word, set()).add(value.slug)
    return {word: next(iter(values)) for word, values in users.items() if len(values) == 1}


def words(text: str) -> frozenset[str]:
    """Stems of the words that carry meaning, and numbers."""
    return content_stems(text) | frozenset(re.findall(r"\d+(?:[.:]\d+)?", text))
