from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from bench.management.base import JsonCommand
from bench.models import Run
from bench.runs.endpoints import is_offline
from bench.runs.execute import rejudge
from bench.runs.reach import check_reachable
from bench.services import services


class Command(JsonCommand):
    help = "Ask judges about the stored trajectories of a run. The agent is never called."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--run", type=int, required=True)
        parser.add_argument(
            "--judges", default="", help="endpoints, separated by commas; the run's own panel if left out"
        )

        parser.add_argument("--missing", action="store_true", help="only what a judge gave no usable verdict on so far")

    def run(self, **options: Any) -> dict[str, Any]:
        run = Run.objects.filter(pk=options["run"]).first()
        if run is None:
            raise ValueError(f"unknown run {options['run']}; see /runs/")
        judges = [word.strip() for word in options["judges"].split(",") if word.strip()]
        judges = judges or list(run.manifest["policy"]["panel"])
        if any(is_offline(judge) for judge in judges):
            services().ensure("embeddings", "offline")
        for judge in judges:
            check_reachable(judge)
        graded = rejudge(run, judges, missing=options["missing"])
        self.say(f"run {run.pk}: {graded} trajectories graded anew by {', '.join(judges)}")
        return {"run": run.pk, "judges": judges, "trajectories": graded}
