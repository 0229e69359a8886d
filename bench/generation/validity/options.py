"""Readers of what is on offer alone: an option's place and length, and which item most others resemble."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from bench.generation.validity.content import Content, Question
from bench.generation.validity.shortcut import Shortcut, guess

Item = Mapping[str, str]


def option_readers(content: Content) -> list[Shortcut]:
    chosen = [question for question in content.test if question.field]
    return [
        guess("first option", content.test, lambda question: question.options[:1], options=True),
        guess("last option", content.test, lambda question: question.options[-1:], options=True),
        guess("longest option", content.test, lambda question: _by_length(question, max), options=True),
        guess("shortest option", content.test, lambda question: _by_length(question, min), options=True),
        guess("most typical item", chosen, lambda question: _of_items(question, _shared), options=True),
        guess("centroid of the items", chosen, centroid, options=True),
        guess("item with most neighbours at distance one", chosen, lambda q: _of_items(q, _near), options=True),
    ]


def _by_length(question: Question, extreme: Callable[[Sequence[int]], int]) -> list[str]:
    offered = sorted(set(question.options))
    wanted = extreme([len(option) for option in offered]) if offered else 0
    return [option for option in offered if len(option) == wanted]


def centroid(question: Question) -> list[str]:
    """What most items have in this field."""
    counts = Counter(question.options)
    return [option for option, count in counts.items() if count == max(counts.values())]


def _of_items(question: Question, like: Callable[[Item, Item], int]) -> list[str]:
    """The field of the items that are most like all others."""
    likeness = [sum(like(item, other) for other in question.items) for item in question.items]
    top = max(likeness, default=0)
    return [item[question.field] for item, score in zip(question.items, likeness, strict=True) if score == top]


def _shared(item: Item, other: Item) -> int:
    return sum(item[field] == other[field] for field in item)


def _near(item: Item, other: Item) -> int:
    return int(len(item) - _shared(item, other) == 1)
