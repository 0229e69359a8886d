"""LoCoMo: long dialogues with questions and the turns that answer them.

Source: Maharana et al. 2024, "Evaluating Very Long-Term Conversational Memory
of LLM Agents". The file is CC BY-NC 4.0: it is read where it lies and never
becomes part of this project.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from dateutil import parser as dates

from bench.texts import FIRST_YEAR, LAST_YEAR, unstorable

MAX_NAME = 110
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


def by_session(dialogue: Dialogue) -> Dialogue:
    """Each session as one long text, a line a turn; a question's evidence are the sessions of its turns."""
    of_session: dict[str, list[Turn]] = {}
    for turn in dialogue.turns:
        of_session.setdefault(turn.session, []).append(turn)
    session_of = {turn.turn_id: turn.session for turn in dialogue.turns}
    whole = (
        Turn(session, "", turns[0].occurred_at, "", "\n".join(turn.text for turn in turns))
        for session, turns in of_session.items()
    )
    asked = (replace(q, evidence=frozenset(session_of[turn] for turn in q.evidence)) for q in dialogue.questions)
    return replace(dialogue, turns=tuple(whole), questions=tuple(asked))


def read_locomo(path: Path) -> tuple[Dialogue, ...]:
    """All dialogues. A faulty turn, evidence or question is reported in ``skipped``, row by row, and stops nothing.

    Raises LocomoError where the file itself is not what it should be.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise LocomoError(f"{path} is not readable: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise LocomoError(f"{path} is not JSON: line {error.lineno}: {error.msg}") from error
    except UnicodeDecodeError as error:
        raise LocomoError(f"{path} is not UTF-8 at byte {error.start + 1}; save it as UTF-8") from error
    except (RecursionError, ValueError) as error:
        raise LocomoError(f"{path} is not JSON of LoCoMo's shape: nested too deeply, or a number too long") from error
    if not isinstance(content, list):
        raise LocomoError(f"{path}: expected a list of dialogues, found {type(content).__name__}")
    if not content:
        raise LocomoError(f"{path} holds no dialogue")
    found: dict[str, Dialogue] = {}
    for number, sample in enumerate(content):
        dialogue = _dialogue(sample, f"{path.name}[{number}]", found)
        found[dialogue.sample] = dialogue
    return tuple(found.values())


def _named(sample: Mapping[str, object], place: str, taken: Collection[str], skipped: list[Skipped]) -> str:
    """The dialogue's id; a second one of the same id gets an id of its own, and a line that says so."""
    given = sample.get("sample_id")
    wished = given[:MAX_NAME] if isinstance(given, str) and given.strip() and not unstorable(given) else place
    name = next(name for n in count(1) if (name := wished if n == 1 else f"{wished}-{n}") not in taken)
    if name != wished:
        skipped.append(Skipped(name, f"another dialogue has the id {wished!r} too; this one is called {name!r}"))
    return name


def _dialogue(sample: object, place: str, taken: Collection[str]) -> Dialogue:
    if not isinstance(sample, dict) or not isinstance(sample.get("conversation"), dict):
        raise LocomoError(f"{place}: not a LoCoMo dialogue: an object with 'conversation' and 'qa' is expected")
    if not isinstance(sample.get("qa"), list):
        raise LocomoError(f"{place}: not a LoCoMo dialogue: 'qa' must be a list of questions")
    skipped: list[Skipped] = []
    name = _named(sample, place, taken, skipped)
    conversation = sample["conversation"]
    turns: dict[str, Turn] = {}
    for number in _session_numbers(conversation):
        for turn in _turns(conversation, number, name, skipped):
            if turn.turn_id in turns:
                skipped.append(Skipped(f"{name}/{turn.turn_id}", "a turn of this id came before; this one is left out"))
            turns.setdefault(turn.turn_id, turn)
    if not turns:
        raise LocomoError(f"{place}: not a LoCoMo dialogue: 'conversation' holds no usable turn")
    questions = [_question(entry, f"{name}#{n}", set(turns), skipped) for n, entry in enumerate(sample["qa"])]
    good = tuple(question for question in questions if question is not None)
    if not good:
        skipped.append(Skipped(name, "the dialogue has no usable question"))
    return Dialogue(name, tuple(turns.values()), good, tuple(skipped))


def _question(entry: object, row: str, known: set[str], skipped: list[Skipped]) -> Question | None:
    """The question, or None with the reason in ``skipped``; faults of its evidence are told there too."""
    if not isinstance(entry, dict):
        skipped.append(Skipped(row, f"a question must be an object, found {type(entry).__name__}"))
        return None
    category, text = entry.get("category"), entry.get("question")
    if isinstance(category, bool) or not isinstance(category, int):
        skipped.append(Skipped(row, f"category is {category!r}; a number from 1 to 5 is expected"))
        return None
    if not isinstance(text, str) or not text.strip() or unstorable(text):
        skipped.append(Skipped(row, "question is missing or no usable text"))
        return None
    evidence, faults = _evidence(entry.get("evidence"), known)
    skipped += [Skipped(row, fault) for fault in faults]
    if category == ADVERSARIAL:
        skipped.append(Skipped(row, "category 5: adversarial, nothing in the dialogue answers it"))
        return None
    if not evidence:
        skipped.append(Skipped(row, "no usable evidence"))
        return None
    answer = entry.get("answer")
    return Question(row, category, text, "" if answer is None else str(answer), evidence)


def _session_numbers(conversation: Mapping[str, object]) -> list[int]:
    return sorted(int(match[1]) for key in conversation if (match := _SESSION.match(key)))


def _turns(conversation: Mapping[str, object], number: int, name: str, skipped: list[Skipped]) -> list[Turn]:
    started = _time(conversation.get(f"session_{number}_date_time"), number)
    session = conversation[f"session_{number}"]
    if not isinstance(session, list):
        skipped.append(Skipped(f"{name}/session_{number}", f"a session is a list of turns, found {session!r:.60}"))
        return []
    found = []
    for position, turn in enumerate(session):
        at = started + timedelta(seconds=30 * position)
        try:
            found.append(_turn(turn, f"session_{number}", at))
        except ValueError as error:
            skipped.append(Skipped(f"{name}/session_{number}[{position}]", str(error)))
    return found


def _turn(turn: object, session: str, occurred_at: datetime) -> Turn:
    """Raises ValueError for what is no turn. A shared picture counts with its caption."""
    if not isinstance(turn, dict):
        raise ValueError(f"a turn must be an object, found {type(turn).__name__}")
    speaker, turn_id, caption = turn.get("speaker"), turn.get("dia_id"), turn.get("blip_caption")
    if not isinstance(speaker, str) or not isinstance(turn_id, str):
        raise ValueError("a turn needs the texts 'speaker' and 'dia_id'; it is left out")
    said = turn.get("text")
    if not isinstance(said, str) and not caption:
        raise ValueError(f"text is {said!r:.60} and there is no picture's caption; the turn is left out")
    text = f"{speaker}: {said if isinstance(said, str) else ''}" + (
        f" [shares a picture: {caption}]" if caption else ""
    )
    if fault := unstorable(text + turn_id):
        raise ValueError(f"text holds {fault}; the turn is left out")
    return Turn(turn_id, session, occurred_at, speaker, text)


def _time(text: object, number: int) -> datetime:
    """Such as "1:56 pm on 8 May, 2023". A session without a readable time keeps its place in the order."""
    instead = datetime(2023, 1, 1, tzinfo=UTC) + timedelta(days=min(number, 10_000))
    if not isinstance(text, str) or not text.strip():
        return instead
    try:
        found = dates.parse(text[:200].replace(" on ", " "), default=datetime(2023, 1, 1)).replace(tzinfo=UTC)  # noqa: DTZ001
    except (ValueError, OverflowError):
        return instead
    return found if FIRST_YEAR <= found.year <= LAST_YEAR else instead


def _evidence(entries: object, known: set[str]) -> tuple[frozenset[str], list[str]]:
    """Usable turn ids, and one fault for each string that is none or holds several, or is no string."""
    faults: list[str] = []
    if isinstance(entries, str):
        faults.append(f"evidence {entries[:60]!r} is one text instead of a list; it is read as one entry")
        entries = [entries]
    if entries is None:
        entries = []
    if not isinstance(entries, list):
        return frozenset(), [f"evidence is {entries!r:.60}; a list of turn ids is expected"]
    found: set[str] = set()
    for entry in entries:
        text = str(entry).strip()[:200]
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
