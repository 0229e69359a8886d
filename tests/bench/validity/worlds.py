"""Small worlds of one dimension with three values, built by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from bench.generation.validity.content import Content, Question
from bench.generation.validity.record import Record
from bench.generation.validity.shortcut import Shortcut

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
DIMENSION = "dining.spice"
VALUES = ("a", "b", "c")


def question(
    value: str,
    split: str = "test",
    *,
    request: str = "please",
    facts: str = "person",
    options: Sequence[str] = VALUES,
    wanted: str = "",
    field: str = "",
    items: Sequence[Mapping[str, str]] = (),
    persona: str = "",
) -> Question:
    """A checkpoint of a person of its own, whose options are named as the values are."""
    own = persona or f"{split} {value}"
    return Question(
        f"{own}: is {value}", own, split, NOON, request, facts, DIMENSION, value,
        tuple(options), wanted or value, field, tuple(items),
    )  # fmt: skip


def record(
    text: str, value: str = "", split: str = "test", *, role: str = "cue", persona: str = "", day: int = 1,
    hour: int = 9, channel: str = "note",
) -> Record:  # fmt: skip
    at = datetime(2026, 1, day, hour, tzinfo=UTC)
    return Record(persona or f"{split} {value}", split, at, channel, text, role, DIMENSION, value)


def content(
    questions: Sequence[Question] = (),
    records: Sequence[Record] = (),
    descriptions: Mapping[str, Mapping[str, str]] | None = None,
) -> Content:
    return Content(tuple(records), tuple(questions), descriptions or {})


def not_met(shortcuts: Sequence[Shortcut]) -> set[str]:
    return {shortcut.name for shortcut in shortcuts if shortcut.verdict == "not met"}
