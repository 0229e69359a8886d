"""A reader of what shows nothing: it counts which values that names, and holds the one that it names least."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from bench.generation.validity.content import Content, Question
from bench.generation.validity.record import Record
from bench.generation.validity.shortcut import Shortcut, guess


def least_named(content: Content) -> Shortcut:
    """What noise never names gives itself away, so noise has to name all values alike.

    Counted are the values that distractors look like, and the options in records of choices that show nothing.
    """
    named: dict[tuple[str, str], list[tuple[Record, str]]] = defaultdict(list)
    for record in content.records:
        for dimension, value in _named(record, content.worded):
            named[record.persona, dimension].append((record, value))

    def pick(question: Question) -> list[str]:
        offered = {content.worded.get((question.dimension, option), "") for option in question.options} - {""}
        seen = named[question.persona, question.dimension]
        counts = Counter(value for record, value in seen if record.at < question.as_of)
        return [value for value in sorted(offered) if counts[value] == min(counts[one] for one in offered)]

    return guess("least named by what shows nothing", content.test, pick)


def _named(record: Record, worded: Mapping[tuple[str, str], str]) -> Iterator[tuple[str, str]]:
    """Dimensions and values that a text which shows nothing names all the same."""
    if record.role == "distractor":
        yield record.dimension, record.value
    elif record.role == "everyday" and "; " in record.text:
        # "; " stands between the two options of a side.
        before, after = record.text.split("; ")[:-1], record.text.split("; ")[1:]
        for (dimension, words), value in worded.items():
            ends = any(f" {part}".endswith(f" {words}") for part in before)
            if ends or any(part.startswith(words) and not part[len(words) :][:1].isalnum() for part in after):
                yield dimension, value
