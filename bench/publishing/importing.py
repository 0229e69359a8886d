"""A published folder taken into this database, with the same sha256, or not at all."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils import timezone

from bench.database import count_rows
from bench.models import (
    Checkpoint,
    Dataset,
    Dimension,
    Domain,
    Erratum,
    Event,
    EventLabel,
    Persona,
    Scenario,
    Task,
)
from bench.names import check_slug
from bench.publishing.package import FORMAT
from bench.publishing.tables import GOLD, PUBLIC, Row, lines
from bench.texts import text_sha256

TABLES = {**PUBLIC, **GOLD}
KEPT = ("seed", "size", "noise", "author", "data_version", "source", "summary", "revision", "checks", "checks_sha256")
Tables = Mapping[str, list[Row]]


class PackageError(ValueError):
    """The folder cannot be taken in; the message names file, line and remedy. Nothing was written."""


@dataclass(frozen=True, slots=True)
class Package:
    manifest: Mapping[str, Any]
    tables: Tables


def read_package(folder: Path) -> Package:
    """Files checked against the manifest's hashes. Raises PackageError."""
    manifest = _json(folder / "manifest.json", _read(folder / "manifest.json"))
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        found = manifest.get("format") if isinstance(manifest, dict) else manifest
        raise PackageError(
            f"{folder}/manifest.json: format is {found!r}, {FORMAT} is read; export it with this version"
        )
    hashes = {one["file"]: one["sha256"] for one in manifest["files"]}
    lacking = [name for name in TABLES if f"{name}.jsonl" not in hashes]
    if lacking:
        raise PackageError(f"{folder}: {lacking[0]}.jsonl is missing; export the dataset with --gold")
    return Package(manifest, {name: list(_rows(folder / f"{name}.jsonl", hashes)) for name in TABLES})


def _rows(path: Path, hashes: Mapping[str, str]) -> Iterator[Row]:
    content = _read(path)
    if hashlib.sha256(content).hexdigest() != hashes[path.name]:
        raise PackageError(f"{path}: its sha256 is not the manifest's; fetch the folder again")
    for number, line in enumerate(content.split(b"\n"), 1):
        if line:
            row = _json(f"{path}:{number}", line)
            wanted = TABLES[path.stem].columns.keys()
            if not isinstance(row, dict) or row.keys() != wanted:
                raise PackageError(f"{path}:{number}: the columns are not {', '.join(wanted)}")
            yield row


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise PackageError(f"{path} is not readable: {error}; --path is the folder of export_dataset") from error


def _json(place: Path | str, content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise PackageError(f"{place}: no JSON ({error})") from error


@transaction.atomic
def import_dataset(package: Package, *, name: str = "") -> Dataset:
    """The dataset, in all rows as it was exported. The same content under the same name is taken in once.

    Raises PackageError, also where the rows that were written would not be exported as the same bytes.
    """
    manifest = package.manifest
    name = check_slug(name or str(manifest["dataset"]), "the dataset's name", 60)
    known = Dataset.objects.filter(name=name, sha256=manifest["sha256"], revision=manifest["revision"], complete=True)
    if (found := known.first()) is not None:
        return found
    versions = set(Dataset.objects.filter(name=name).values_list("version", flat=True))
    version = manifest["version"] if manifest["version"] not in versions else max(versions) + 1
    dataset = Dataset.objects.create(
        name=name,
        version=version,
        sha256=manifest["sha256"],
        complete=True,
        **{key: manifest[key] for key in KEPT},
        valid=manifest["validity"]["valid"],
        checked_at=manifest["validity"]["checked_at"],
    )
    try:
        _write(dataset, package.tables)
    except (KeyError, TypeError, ValueError) as error:
        raise PackageError(f"the tables do not fit together: {error!r}") from error
    count_rows(Persona, Event, EventLabel, Task, Checkpoint, Checkpoint.evidence.through)
    for table, rows in package.tables.items():
        if lines(_compared(TABLES[table].rows(dataset))) != lines(_compared(rows)):
            raise PackageError(f"{table}.jsonl would not be exported as it was read; export_dataset did not write it")
    return dataset


def _compared(rows: Iterable[Row]) -> Iterator[Row]:
    """Without the words on domains: a database that knows a domain keeps its own."""
    return (row for row in rows if row.get("kind") != "domain")


def _write(dataset: Dataset, tables: Tables) -> None:
    scenarios = _catalogue(dataset, tables["catalogue"])
    lives = {row["persona"]: row for row in tables["gold_lives"]}
    personas = {
        row["persona"]: Persona(
            dataset=dataset, slug=row["persona"], name=row["name"], split=row["split"], background=row["background"],
            roles=row["roles"], traits=lives[row["persona"]]["traits"], states=lives[row["persona"]]["states"],
        )
        for row in tables["personas"]
    }  # fmt: skip
    Persona.objects.bulk_create(personas.values())
    events = _events(personas, tables)
    contexts = {row["task"]: row["context"] for row in tables["gold_tasks"]}
    tasks = {
        row["task"]: Task(
            persona=personas[row["persona"]], scenario=scenarios[row["scenario"]], slug=row["task"],
            request=row["request"], as_of=datetime.fromisoformat(row["as_of"]), context=contexts[row["task"]],
            tools=row["tools"], world=row["world"],
        )
        for row in tables["tasks"]
    }  # fmt: skip
    Task.objects.bulk_create(tasks.values())
    _checkpoints(dataset, tasks, events, tables["gold_checkpoints"])


def _catalogue(dataset: Dataset, rows: list[Row]) -> dict[str, Scenario]:
    """Scenarios by reference. What this database has of the version stays; a domain that it has keeps its words."""
    by_kind: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_kind[row["kind"]].append(row)
    domains = {}
    for position, row in enumerate(by_kind["domain"]):
        values = {"name": row["name"], "summary": row["words"], "position": position}
        domains[row["reference"]], _ = Domain.objects.get_or_create(
            slug=row["reference"], defaults={**values, "data_version": dataset.data_version}
        )
    for row in by_kind["dimension"]:
        domain, slug = row["reference"].split(".")
        Dimension.objects.get_or_create(
            domain=domains[domain], slug=slug, data_version=dataset.data_version,
            defaults={
                "name": row["name"], "question": row["words"], "options": row["options"], "answer": row["answer"],
            },
        )  # fmt: skip
    found = {}
    for row in by_kind["scenario"]:
        domain, slug = row["reference"].split(".")
        found[row["reference"]], _ = Scenario.objects.get_or_create(
            domain=domains[domain], slug=slug, data_version=dataset.data_version,
            defaults={"name": row["name"], "summary": row["words"], "action_kind": row["action_kind"]},
        )  # fmt: skip
    return found


def _events(personas: Mapping[str, Persona], tables: Tables) -> dict[tuple[str, int], Event]:
    events = {
        (row["persona"], row["position"]): Event(
            persona=personas[row["persona"]], position=row["position"], text=row["text"], channel=row["channel"],
            occurred_at=datetime.fromisoformat(row["occurred_at"]), session=row["session"],
            text_sha256=text_sha256(row["text"]),
        )
        for row in tables["events"]
    }  # fmt: skip
    Event.objects.bulk_create(events.values(), batch_size=5000)
    EventLabel.objects.bulk_create(
        (
            EventLabel(
                event=events[row["persona"], row["position"]],
                **{name: row[name] for name in ("role", "dimension", "value", "group", "why")},
            )
            for row in tables["gold_labels"]
        ),
        batch_size=5000,
    )
    return events


def _checkpoints(
    dataset: Dataset, tasks: Mapping[str, Task], events: Mapping[tuple[str, int], Event], rows: list[Row]
) -> None:
    kept = TABLES["gold_checkpoints"].columns.keys() - {"task", "evidence"}
    made = Checkpoint.objects.bulk_create(
        (Checkpoint(task=tasks[row["task"]], **{name: row[name] for name in kept}) for row in rows), batch_size=5000
    )
    through = Checkpoint.evidence.through
    through.objects.bulk_create(
        (
            through(checkpoint_id=checkpoint.pk, event_id=events[tasks[row["task"]].persona.slug, position].pk)
            for checkpoint, row in zip(made, rows, strict=True)
            for position in row["evidence"]
        ),
        batch_size=5000,
    )
    Erratum.objects.bulk_create(
        Erratum(
            dataset=dataset, checkpoint=checkpoint, revision=dataset.revision, by="import", retired_at=timezone.now(),
            reason="Retired where the dataset was published.",
        )
        for checkpoint in made
        if checkpoint.retired
    )  # fmt: skip
