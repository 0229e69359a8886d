from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from bench.importers.histories import locomo_histories, read_jsonl, write_histories
from bench.importers.locomo import read_locomo
from bench.management.base import JsonCommand
from bench.search.vectors import index_events
from bench.services import services


class Command(JsonCommand):
    help = "Import histories: JSONL lines {persona, occurred_at, channel, text}, or a LoCoMo file. All or nothing."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", required=True, help="name of the dataset to write")
        parser.add_argument("--path", required=True)
        parser.add_argument("--format", default="jsonl", choices=["jsonl", "locomo"])

    def run(self, **options: Any) -> dict[str, Any]:
        path = Path(options["path"])
        histories = read_jsonl(path) if options["format"] == "jsonl" else locomo_histories(read_locomo(path))
        dataset = write_histories(options["name"], options["format"], histories)
        services().ensure("embeddings")
        embedded = index_events(dataset.personas.values_list("pk", flat=True))
        return {
            "name": dataset.name,
            "version": dataset.version,
            "sha256": dataset.sha256,
            "personas": len(histories),
            "events": sum(map(len, histories.values())),
            "embedded": embedded,
        }
