"""Readers that tell signal from noise, and cues from distractors, by how texts look: learned on dev, ranked on test."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from bench.generation.validity.content import SILENT, TELLING, Content, Record
from bench.generation.validity.shortcut import MOST_AUC, Shortcut, area
from bench.generation.validity.word_reader import learn, words
from bench.models import Split

Tokens = Callable[[Record], Sequence[str]]
Kind = Callable[[Record], bool]

_MARK = re.compile(r"[^\w\s]|[\d_]")


def looks(record: Record) -> list[str]:
    """Length in steps of ten characters and three words, each mark with how often it stands, case and end."""
    text = record.text
    marks = ["9" if mark.isdigit() else mark for mark in _MARK.findall(text)]
    return [
        f"characters {len(text) // 10}",
        f"words {len(text.split()) // 3}",
        f"capitals {min(3, sum(letter.isupper() for letter in text))}",
        f"ends {'letter' if text[-1:].isalpha() else text[-1:]}",
        *(f"{mark} {min(3, marks.count(mark))}" for mark in sorted(set(marks))),
    ]


WAYS: tuple[tuple[str, Tokens], ...] = (
    ("words", lambda record: words(record.text)),
    ("length and punctuation", looks),
    ("channel", lambda record: [record.channel]),
    ("hour", lambda record: [f"{record.at:%H}"]),
)


def telling_readers(content: Content) -> list[Shortcut]:
    kinds: tuple[tuple[str, Kind, Kind], ...] = (
        ("signal or noise", lambda r: r.role not in SILENT, lambda r: r.role in SILENT),
        ("cue or distractor", lambda r: r.role in TELLING, lambda r: r.role == "distractor"),
    )
    return [tell(f"{name} by {way}", content, yes, no, tokens) for name, yes, no in kinds for way, tokens in WAYS]


def tell(name: str, content: Content, yes: Kind, no: Kind, tokens: Tokens) -> Shortcut:
    dev, test = content.records_of(Split.DEV), content.records_of(Split.TEST)
    learned = [[tokens(record) for record in dev if kind(record)] for kind in (yes, no)]
    if not all(learned):
        return Shortcut(name, None, MOST_AUC, len(test), learned_on=Split.DEV)
    reader = learn(*learned)
    scored = ([(reader.score(tokens(r)), f"{r.channel}: {r.text}") for r in test if kind(r)] for kind in (yes, no))
    return area(name, *scored)
