from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from bench.management.base import JsonCommand
from bench.models import Dataset
from bench.publishing.package import export_dataset


class Command(JsonCommand):
    help = "Write a dataset as files with a data card and Croissant metadata. Gold is left out unless --gold is given."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dataset", required=True)
        parser.add_argument("--out", required=True, help="folder")
        parser.add_argument("--gold", action="store_true", help="also labels, checkpoints, traits and states")
        parser.add_argument("--parquet", action="store_true", help="each table as Parquet too")
        parser.add_argument("--url", default="", help="where the folder will be published, for its metadata")

    def run(self, **options: Any) -> dict[str, Any]:
        dataset = Dataset.objects.newest(options["dataset"])
        if dataset is None:
            raise ValueError(f"unknown dataset {options['dataset']!r}; make it with build_dataset")
        ways = {name: options[name] for name in ("gold", "parquet", "url")}
        files = export_dataset(dataset, Path(options["out"]), **ways)
        return {"dataset": dataset.name, "version": dataset.version, "files": files}
