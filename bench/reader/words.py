"""Which options a text speaks for, by what the catalogue says of them.

The rule for words that are not the reader's own. All that the catalogue says of an option is one document; a sentence
speaks for the option of the scenario whose document is nearest to it (cosine of tf-idf; a word behind a negation is
another word), if it shares two words with it and one is of no other option of the dimension. An "or" is a hedge.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

from bench.catalogue.words import content_stems
from bench.reader import typed
from bench.reader.knowledge import Option, dimensions, said_of, sentence
from bench.reader.orders import heard

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_NEGATION = re.compile(r"\b(?:no|not|never|none|nothing|nobody|without|neither|nor|cannot)\b|n['’]t\b", re.IGNORECASE)
_OR = re.compile(r"\b(?:or|either|alternatively)\b|/", re.IGNORECASE)
_CLAUSE = re.compile(r"[,.:;!?()\n]|\b(?:but|and then|instead)\b", re.IGNORECASE)


def told(text: str, among: Sequence[str]) -> list[Option]:
    """The options that a constraint or a note states: those whose own sentence stands in it, else the likeliest one."""
    if heard(text) or typed.heard(text):
        return []
    own = [(dimension, value) for dimension in among for value in _stated(text, dimension)]
    if own:
        return own
    named = [d for d in among if text.casefold().startswith(f"{dimensions()[d].name.casefold()}:")]
    votes = Counter({(d, v): count for d in named or among for v, count in _votes(text, d).items()})
    best = [option for option, count in votes.items() if count == max(votes.values())]
    return best if len(best) == 1 else []


def served(text: str, dimension: str, among: Sequence[str]) -> set[str]:
    """The options of a dimension that a text speaks for, beside the other dimensions it is about."""
    own = _stated(text, dimension)
    if own:
        return set(own)
    options = [(other, value.slug) for other in among for value in dimensions()[other].values]
    found: set[str] = set()
    for part in _SENTENCE.split(text):
        nearest = _nearest(part, options)
        if nearest and nearest[0] == dimension:
            pieces = re.split(r",|\bor\b|/", part) if _OR.search(part) else []
            rivals = {near for piece in pieces if (near := _nearest(piece, options))}
            found |= {nearest[1], *(value for other, value in rivals if other == dimension)}
    return found


def _nearest(text: str, options: Sequence[Option]) -> Option | None:
    """The option whose document is nearest, if the text tells it; None for a text about nothing."""
    asked = words(text) & weights().keys()
    near = {option: sum(weights()[w] * document(*option).get(w, 0.0) for w in asked) for option in options}
    best = max(near, key=lambda option: near[option], default=None)
    tells = best is not None and any(telling(best[0]).get(word) == best[1] for word in asked)
    return best if best and tells and len(asked & document(*best).keys()) > 1 else None


@cache
def weights() -> dict[str, float]:
    """Word -> the logarithm of how few options have it."""
    every = [words(" ".join(_texts(d, v.slug))) for d, found in dimensions().items() for v in found.values]
    users = Counter(word for document in every for word in document)
    return {word: math.log(len(every) / count) for word, count in users.items()}


@cache
def document(dimension: str, value: str) -> dict[str, float]:
    """Word -> weight in what is said of an option, of length one."""
    counts = Counter(word for text in _texts(dimension, value) for word in words(text))
    vector = {word: (1 + math.log(count)) * weights()[word] for word, count in counts.items()}
    length = math.sqrt(sum(x * x for x in vector.values())) or 1.0
    return {word: x / length for word, x in vector.items()}


def _texts(dimension: str, value: str) -> list[str]:
    return [f"{text}." for text in said_of(dimension, value)]


def _stated(text: str, dimension: str) -> list[str]:
    return [v.slug for v in dimensions()[dimension].values if sentence(dimension, v.slug) in text]


def _votes(text: str, dimension: str) -> Counter[str]:
    known = telling(dimension)
    return Counter(known[word] for word in words(text) & known.keys())


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
    """Stems of the words that carry meaning, and numbers; marked where a negation stands before them in the clause."""
    found: set[str] = set()
    for clause in _CLAUSE.split(re.sub(r"(\d)[.:](\d)", r"\1h\2", text)):
        head, *negated = _NEGATION.split(clause)
        found |= _plain(head) | {f"not {word}" for part in negated for word in _plain(part)}
    return frozenset(found)


def _plain(text: str) -> frozenset[str]:
    return content_stems(text) | frozenset(re.findall(r"\d+(?:h\d+)?", text))
