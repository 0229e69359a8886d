"""Write a history from elsewhere as a persona with events: LoCoMo dialogues and our own JSONL."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import transaction

from bench.importers.locomo import Dialogue
from bench.models import Dataset, Event, Persona
from bench.texts import text_sha256

MAX_TEXT = 20_000


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

    Raises HistoryError with all faults found; a history is taken whole or not at all.
    """
    faults: list[str] = []
    found: dict[str, list[ImportedEvent]] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise HistoryError(f"{path} is not readable: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            persona, event = _event(json.loads(line))
            found.setdefault(persona, []).append(event)
        except (json.JSONDecodeError, ValueError) as error:
            faults.append(f"{path.name}:{number}: {error}")
    if not found and not faults:
        faults.append(f"{path.name}: holds no event")
    if faults:
        raise HistoryError("\n".join(faults[:20] + ([f"and {len(faults) - 20} more"] if len(faults) > 20 else [])))
    return found


def _event(row: Any) -> tuple[str, ImportedEvent]:
    if not isinstance(row, dict):
        raise ValueError(f"a line must be a JSON object, found {type(row).__name__}")
    for key in ("persona", "occurred_at", "channel", "text"):
        if not isinstance(row.get(key), str) or not row[key].strip():
            raise ValueError(f"field {key!r} is missing or not a text (found {row.get(key)!r})")
    try:
        moment = datetime.fromisoformat(row["occurred_at"])
    except ValueError as error:
        raise ValueError(
            f"field 'occurred_at' is {row['occurred_at']!r}; use ISO 8601 such as 2026-03-14T09:30:00Z"
        ) from error
    if moment.tzinfo is None:
        raise ValueError(f"field 'occurred_at' is {row['occurred_at']!r} without a time zone; add Z or +02:00")
    if len(row["text"]) > MAX_TEXT or "\x00" in row["text"]:
        raise ValueError(f"field 'text' is longer than {MAX_TEXT} characters or holds a zero byte")
    if len(row["channel"]) > 20:
        raise ValueError(f"field 'channel' is {row['channel']!r}; at most 20 characters")
    return row["persona"], ImportedEvent(moment, row["channel"], row["text"], str(row.get("session", ""))[:40])


def write_histories(name: str, source: str, histories: Mapping[str, Sequence[ImportedEvent]]) -> Dataset:
    """One persona a history, all or none. The same content under the same name is written once."""
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
        for slug in sorted(histories):
            _write(dataset, slug, histories[slug])
    return dataset


def _write(dataset: Dataset, slug: str, events: Iterable[ImportedEvent]) -> None:
    persona = Persona.objects.create(dataset=dataset, slug=slug, name=slug, split="test")
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
        dialogue.sample: [ImportedEvent(t.occurred_at, "chat", t.text, t.session) for t in dialogue.turns]
        for dialogue in dialogues
    }
