"""Write a history from elsewhere as a persona with events: LoCoMo dialogues and our own JSONL."""

from __future__ import annotations

import codecs
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.db import transaction

from bench.database import count_rows
from bench.importers.locomo import Dialogue
from bench.models import Dataset, Event, Persona
from bench.names import check_slug, slugs_for
from bench.texts import FIRST_YEAR, LAST_YEAR, text_sha256, unstorable

MAX_TEXT = 20_000
MAX_NAME = 120


class HistoryError(ValueError):
    """The file cannot be imported; each line names row, field and remedy. Nothing was written."""


@dataclass(frozen=True)
class ImportedEvent:
    occurred_at: datetime
    channel: str
    text: str
    session: str = ""


def read_jsonl(path: Path) -> dict[str, list[ImportedEvent]]:
    """Persona -> events, from lines ``{"persona", "occurred_at", "channel", "text"[, "session"]}``.

    A line ends at a line feed and nowhere else: U+2028 and NEL may stand within a text, and a byte order mark before
    the first. Raises HistoryError with all faults found; a history is taken whole or not at all.
    """
    faults: list[str] = []
    found: dict[str, list[ImportedEvent]] = {}
    try:
        content = path.read_bytes()
    except OSError as error:
        raise HistoryError(f"{path} is not readable: {error}") from error
    for number, line in enumerate(content.removeprefix(codecs.BOM_UTF8).split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            persona, event = _event(_parsed(line))
            found.setdefault(persona, []).append(event)
        except ValueError as error:
            faults.append(f"{path.name}:{number}: {error}")
    if not found and not faults:
        faults.append(f"{path.name}: holds no event")
    if faults:
        raise HistoryError("\n".join(faults[:20] + ([f"and {len(faults) - 20} more"] if len(faults) > 20 else [])))
    return found


def _parsed(line: bytes) -> object:
    try:
        return json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1} is not UTF-8; save the file as UTF-8") from error
    except RecursionError as error:
        raise ValueError("is nested too deeply; a line is one flat object") from error


def _event(row: object) -> tuple[str, ImportedEvent]:
    if not isinstance(row, dict):
        raise ValueError(f"a line must be a JSON object, found {type(row).__name__}")
    persona = read_text(row.get("persona"), "persona", MAX_NAME)
    moment = _moment(read_text(row.get("occurred_at"), "occurred_at", 40))
    channel = read_text(row.get("channel"), "channel", 20)
    text = read_text(row.get("text"), "text", MAX_TEXT)
    session = row.get("session")
    return persona, ImportedEvent(moment, channel, text, read_text(session, "session", 40) if session else "")


def read_text(value: object, field: str, longest: int) -> str:
    """A text that the database can hold. Raises ValueError that names the field and the remedy."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"field {field!r} is missing or not a text (found {str(value)[:60]!r})")
    if len(value) > longest:
        raise ValueError(f"field {field!r} has {len(value)} characters; at most {longest} are taken")
    if fault := unstorable(value):
        raise ValueError(f"field {field!r} holds {fault}; take it out")
    return value


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"field 'occurred_at' is {text!r}; use ISO 8601 such as 2026-03-14T09:30:00Z") from error
    if moment.tzinfo is None:
        raise ValueError(f"field 'occurred_at' is {text!r} without a time zone; add Z or +02:00")
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise ValueError(f"field 'occurred_at' is {text!r}; years from {FIRST_YEAR} to {LAST_YEAR} are taken")
    return moment


def write_histories(name: str, source: str, histories: Mapping[str, Sequence[ImportedEvent]]) -> Dataset:
    """One persona a history, all or none. The same content under the same name is written once.

    A persona whose name cannot stand in an address gets a slug and keeps the name. Raises ValueError for the
    dataset's name where it cannot.
    """
    check_slug(name, "name", 60)
    digest = hashlib.sha256()
    for persona in sorted(histories):
        for event in histories[persona]:
            digest.update(f"{persona}\0{event.occurred_at.isoformat()}\0{event.channel}\0{event.text}\0".encode())
    sha256 = digest.hexdigest()
    known = Dataset.objects.filter(name=name, sha256=sha256, complete=True).first()
    if known is not None:
        return known
    with transaction.atomic():
        newest = Dataset.objects.filter(name=name).order_by("-version").first()
        events = sum(map(len, histories.values()))
        dataset = Dataset.objects.create(
            name=name,
            version=newest.version + 1 if newest else 1,
            sha256=sha256,
            seed=0,
            size=str(len(histories)),
            noise=0,
            author="people",
            data_version="imported",
            source=source,
            summary={"personas": len(histories), "events": events, "tasks": 0},
            complete=True,
        )
        for persona, slug in sorted(slugs_for(histories).items()):
            _write(dataset, slug, persona, histories[persona])
    count_rows(Persona, Event)
    return dataset


def _write(dataset: Dataset, slug: str, name: str, events: Iterable[ImportedEvent]) -> None:
    persona = Persona.objects.create(dataset=dataset, slug=slug, name=name, split="test")
    ordered = sorted(events, key=lambda event: event.occurred_at)
    Event.objects.bulk_create(
        Event(
            persona=persona,
            position=position,
            occurred_at=event.occurred_at,
            channel=event.channel,
            session=event.session,
            text=event.text,
            text_sha256=text_sha256(event.text),
        )
        for position, event in enumerate(ordered)
    )


def locomo_histories(dialogues: Sequence[Dialogue]) -> dict[str, list[ImportedEvent]]:
    return {
        dialogue.sample: [ImportedEvent(t.occurred_at, "chat", t.text, t.session[:40]) for t in dialogue.turns]
        for dialogue in dialogues
    }
