from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from bench.management.base import JsonCommand
from bench.models import Dataset
from bench.search.vectors import index_events
from bench.services import services


class Command(JsonCommand):
    help = "Give events their vectors, where a dataset was made before the embedding model changed."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dataset", required=True)

    def run(self, **options: Any) -> dict[str, Any]:
        dataset = Dataset.objects.newest(options["dataset"])
        if dataset is None:
            raise ValueError(f"unknown dataset {options['dataset']!r}")
        services().ensure("embeddings")
        return {"embedded": index_events(dataset.personas.values_list("pk", flat=True))}
