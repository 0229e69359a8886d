"""An event as the shortcut readers see it, and what of it they may tell it by. Knows no database."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from bench.generation.validity.word_reader import words

SHOWING = frozenset({"cue", "condition", "drift"})  # roles of texts that show a value
TELLING = SHOWING | {"against"}  # and of those that rule one out
SILENT = frozenset({"everyday", "distractor"})  # roles of texts that show nothing

_MARK = re.compile(r"[^\w\s]|[\d_]")


@dataclass(frozen=True)
class Record:
    """An event and its label."""

    persona: str
    split: str
    at: datetime
    channel: str
    text: str
    role: str
    dimension: str = ""
    value: str = ""


Tokens = Callable[[Record], Sequence[str]]
Kind = Callable[[Record], bool]


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

# What is told from what.
KINDS: tuple[tuple[str, Kind, Kind], ...] = (
    ("signal or noise", lambda r: r.role not in SILENT, lambda r: r.role in SILENT),
    ("cue or distractor", lambda r: r.role in TELLING, lambda r: r.role == "distractor"),
)
