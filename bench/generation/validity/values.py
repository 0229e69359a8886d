"""Readers that name a value: from its frequency on dev, from texts met there, from the request, from the person."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

from bench.generation.habits import agrees
from bench.generation.validity.content import Content, Question, TypedQuestion
from bench.generation.validity.record import TELLING, Record
from bench.generation.validity.shortcut import Credit, Shortcut, guess, share
from bench.generation.validity.word_reader import WordReader, best, learn_each, words
from bench.models import Split

MOST_LATEST = 0.75  # of who reads every cue right but has no idea of states and conditions


def value_readers(content: Content) -> list[Shortcut]:
    return [
        majority(content),
        memoriser(content),
        by_words("request only", content, lambda question: question.request),
        by_words("persona facts only", content, lambda question: question.facts),
        latest_wins(content),
        typed_of_dev(content),
    ]


def majority(content: Content) -> Shortcut:
    """The most frequent value of the dimension among dev's checkpoints."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for question in content.dev:
        counts[question.dimension][question.value] += 1

    def pick(question: Question) -> list[str]:
        seen = counts[question.dimension]
        return [value for value, count in seen.items() if count == max(seen.values())]

    return guess("majority value of dev", content.test, pick, learned_on=Split.DEV)


def memoriser(content: Content) -> Shortcut:
    """Knows dev's cues by heart, and takes the latest one that stands word for word in the test person's history."""
    known = {
        (record.dimension, record.text): record.value
        for record in content.records_of(Split.DEV)
        if record.role in TELLING and record.value
    }
    lives = _lives(content.records_of(Split.TEST))

    def pick(question: Question) -> list[str]:
        seen = ((record, known.get((question.dimension, record.text))) for record in _before(lives, question))
        left = [content.left_by(record, value) for record, value in seen if value is not None]
        return left[-1] if left else []

    return guess("memoriser of dev's texts", content.test, pick, learned_on=Split.DEV)


def latest_wins(content: Content) -> Shortcut:
    """Reads every text on the dimension as its label says, and believes the last; no state or condition counts.

    What that text rules out is out, and nothing else.
    """
    lives = _lives(content.records_of(Split.TEST))

    def pick(question: Question) -> list[str]:
        seen = [r for r in _before(lives, question) if r.role in TELLING and r.dimension == question.dimension]
        return content.left_by(seen[-1], seen[-1].value) if seen else []

    return guess("latest cue wins, no states, no conditions", content.test, pick, limit=MOST_LATEST)


def typed_of_dev(content: Content) -> Shortcut:
    """Of each regularity the answer of dev that is right for most of dev's, a guess where dev has none."""
    known: dict[str, list[str]] = defaultdict(list)
    for question in content.typed:
        if question.split == Split.DEV:
            known[question.regularity].append(question.value)

    def credit(question: TypedQuestion) -> Credit:
        def right_for(value: str, other: str) -> bool:
            return agrees(question.answer, value, other, question.tolerance)

        seen = known[question.regularity]
        met = {value: sum(right_for(value, other) for other in seen) for value in seen}
        best = [value for value, count in met.items() if count == max(met.values())]
        earned = sum(right_for(value, question.value) for value in best) / len(best) if best else question.chance
        return Credit(question.name, question.persona, earned, question.chance)

    asked = [credit(question) for question in content.typed if question.split == Split.TEST]
    return share("typed answer most frequent on dev", asked, learned_on=Split.DEV)


def by_words(name: str, content: Content, text_of: Callable[[Question], str]) -> Shortcut:
    """Naive Bayes from the words of a text to the value, learned for each dimension on dev."""
    texts: dict[str, dict[str, list[list[str]]]] = defaultdict(lambda: defaultdict(list))
    for question in content.dev:
        texts[question.dimension][question.value].append(words(text_of(question)))
    readers: dict[str, dict[str, WordReader]] = {one: learn_each(by_value) for one, by_value in texts.items()}

    def pick(question: Question) -> list[str]:
        return best(readers.get(question.dimension, {}), words(text_of(question)))

    return guess(name, content.test, pick, learned_on=Split.DEV)


def _lives(records: Sequence[Record]) -> Mapping[str, list[Record]]:
    lives: dict[str, list[Record]] = defaultdict(list)
    for record in sorted(records, key=lambda record: record.at):
        lives[record.persona].append(record)
    return lives


def _before(lives: Mapping[str, list[Record]], question: Question) -> list[Record]:
    return [record for record in lives.get(question.persona, ()) if record.at < question.as_of]
