"""LoCoMo: long dialogues with questions and the turns that answer them.

Source: Maharana et al. 2024, "Evaluating Very Long-Term Conversational Memory
of LLM Agents". The file is CC BY-NC 4.0: it is read where it lies and never
becomes part of this project.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from dateutil import parser as dates

ADVERSARIAL = 5  # keeps its answer under another key and has no answer in the dialogue
_TURN = re.compile(r"^D\d+:\d+$")
_SESSION = re.compile(r"^session_(\d+)$")


class LocomoError(ValueError):
    """The file is not LoCoMo's shape; the message names the place."""


@dataclass(frozen=True)
class Turn:
    turn_id: str
    session: str
    occurred_at: datetime
    speaker: str
    text: str


@dataclass(frozen=True)
class Question:
    row: str  # "<sample>#<number>"
    category: int
    text: str
    answer: str
    evidence: frozenset[str]


@dataclass(frozen=True)
class Skipped:
    row: str
    reason: str


@dataclass(frozen=True)
class Dialogue:
    sample: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]
    skipped: tuple[Skipped, ...] = field(default=())


def read_locomo(path: Path) -> tuple[Dialogue, ...]:
    """All dialogues. A faulty evidence string or question is reported in ``skipped``, row by row, and stops nothing.

    Raises LocomoError where the file itself is not what it should be.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LocomoError(f"{path} is not readable: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise LocomoError(f"{path} is not JSON: line {error.lineno}: {error.msg}") from error
    if not isinstance(content, list):
        raise LocomoError(f"{path}: expected a list of dialogues, found {type(content).__name__}")
    return tuple(_dialogue(sample, f"{path.name}[{i}]") for i, sample in enumerate(content))


def _dialogue(sample: Any, place: str) -> Dialogue:
    try:
        conversation, questions = sample["conversation"], sample["qa"]
        name = str(sample.get("sample_id", place))
        turns = tuple(turn for number in _session_numbers(conversation) for turn in _turns(conversation, number))
    except (KeyError, TypeError, ValueError) as error:
        raise LocomoError(f"{place}: not a LoCoMo dialogue: {type(error).__name__} {error}") from error
    known = {turn.turn_id for turn in turns}
    good: list[Question] = []
    skipped: list[Skipped] = []
    for number, entry in enumerate(questions):
        row = f"{name}#{number}"
        evidence, faults = _evidence(entry.get("evidence") or [], known)
        skipped += [Skipped(row, fault) for fault in faults]
        answer = entry.get("answer", entry.get("adversarial_answer", ""))
        if entry.get("category") == ADVERSARIAL:
            skipped.append(Skipped(row, "category 5: adversarial, nothing in the dialogue answers it"))
        elif not evidence:
            skipped.append(Skipped(row, "no usable evidence"))
        else:
            good.append(Question(row, entry["category"], str(entry["question"]), str(answer), evidence))
    return Dialogue(name, turns, tuple(good), tuple(skipped))


def _session_numbers(conversation: dict[str, Any]) -> list[int]:
    return sorted(int(match[1]) for key in conversation if (match := _SESSION.match(key)))


def _turns(conversation: dict[str, Any], number: int) -> list[Turn]:
    started = _time(conversation.get(f"session_{number}_date_time", ""), number)
    return [
        Turn(
            turn_id=str(turn["dia_id"]),
            session=f"session_{number}",
            occurred_at=started + timedelta(seconds=30 * position),
            speaker=str(turn["speaker"]),
            text=_text(turn),
        )
        for position, turn in enumerate(conversation[f"session_{number}"])
    ]


def _text(turn: dict[str, Any]) -> str:
    """Who says what; a shared picture counts with its caption."""
    caption = turn.get("blip_caption")
    shared = f" [shares a picture: {caption}]" if caption else ""
    return f"{turn['speaker']}: {turn.get('text', '')}{shared}"


def _time(text: str, number: int) -> datetime:
    """Such as "1:56 pm on 8 May, 2023". A session without a readable time keeps its place in the order."""
    try:
        return dates.parse(text.replace(" on ", " "), default=datetime(2023, 1, 1)).replace(tzinfo=UTC)  # noqa: DTZ001
    except (ValueError, OverflowError):
        return datetime(2023, 1, 1, tzinfo=UTC) + timedelta(days=number)


def _evidence(entries: list[Any], known: set[str]) -> tuple[frozenset[str], list[str]]:
    """Usable turn ids, and one fault for each string that is none or holds several."""
    found: set[str] = set()
    faults: list[str] = []
    for entry in entries:
        text = str(entry).strip()
        if _TURN.match(text) and text in known:
            found.add(text)
            continue
        parts = [part for part in re.split(r"[;,\s]+", text) if part]
        usable = [part for part in parts if part in known]
        found.update(usable)
        if len(parts) > 1 and len(usable) == len(parts):
            faults.append(f"evidence {text!r} holds {len(parts)} turns in one string; all are used")
        else:
            faults.append(f"evidence {text!r} points to no turn")
    return frozenset(found), faults
