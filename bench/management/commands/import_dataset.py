from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from bench.management.base import JsonCommand
from bench.publishing.importing import import_dataset, read_package
from bench.search.vectors import index_events
from bench.services import services


class Command(JsonCommand):
    help = "Take the folder of export_dataset --gold into this database: the same rows, the same sha256."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--path", required=True, help="folder that holds manifest.json")
        parser.add_argument("--name", default="", help="another name than the manifest's")

    def run(self, **options: Any) -> dict[str, Any]:
        dataset = import_dataset(read_package(Path(options["path"])), name=options["name"])
        services().ensure("embeddings")
        ids = list(dataset.personas.values_list("pk", flat=True))
        index_events(ids, progress=lambda done, total: self.say(f"embedded {done} of {total} texts"))
        self.say(f"{dataset} has sha256 {dataset.sha256}")
        return {"dataset": dataset.name, "version": dataset.version, "sha256": dataset.sha256}
