from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from bench.exports import export_results
from bench.management.base import JsonCommand
from bench.models import Run


class Command(JsonCommand):
    help = "Write a run: manifest, results, trajectories, verdicts and scores."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--run", type=int, required=True)
        parser.add_argument("--out", required=True, help="folder")

    def run(self, **options: Any) -> dict[str, Any]:
        run = Run.objects.filter(pk=options["run"]).first()
        if run is None:
            raise ValueError(f"unknown run {options['run']}; see /runs/")
        return {"run": run.pk, "simulated": run.simulated, "files": export_results(run, Path(options["out"]))}
