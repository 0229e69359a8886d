from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from bench.exports import export_dataset
from bench.management.base import JsonCommand
from bench.models import Dataset


class Command(JsonCommand):
    help = "Write a dataset as JSONL files. Gold is left out unless --gold is given."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dataset", required=True)
        parser.add_argument("--out", required=True, help="folder")
        parser.add_argument("--gold", action="store_true", help="also labels, checkpoints, traits and states")

    def run(self, **options: Any) -> dict[str, Any]:
        dataset = Dataset.objects.newest(options["dataset"])
        if dataset is None:
            raise ValueError(f"unknown dataset {options['dataset']!r}; make it with build_dataset")
        files = export_dataset(dataset, Path(options["out"]), gold=options["gold"])
        return {"dataset": dataset.name, "version": dataset.version, "files": files}
