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
    help = "Import histories: JSONL lines {persona, occurred_at, channel, text} (all or nothing), or a LoCoMo file."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", required=True, help="name of the dataset to write")
        parser.add_argument("--path", required=True)
        parser.add_argument("--format", default="jsonl", choices=["jsonl", "locomo"])

    def run(self, **options: Any) -> dict[str, Any]:
        path = Path(options["path"])
        dialogues = read_locomo(path) if options["format"] == "locomo" else ()
        histories = locomo_histories(dialogues) if options["format"] == "locomo" else read_jsonl(path)
        skipped = [{"row": entry.row, "reason": entry.reason} for one in dialogues for entry in one.skipped]
        for entry in skipped:
            self.say(f"{entry['row']}: {entry['reason']}")
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
            "skipped": skipped,
        }
