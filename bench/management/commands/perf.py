from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from bench.management.base import JsonCommand
from bench.perf import SUITES


class Command(JsonCommand):
    help = "Measure one suite. Each row stands beside a reference measured in the same run, since machines differ."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--suite", required=True, choices=list(SUITES))

    def run(self, **options: Any) -> dict[str, Any]:
        rows = []
        for row in SUITES[options["suite"]](self.say):
            rows.append(row.to_json())
            self.say(f"{row.name}: {row.value:.4g} {row.unit} (reference {row.reference:.4g}, ratio {row.ratio:.3g})")
        return {"suite": options["suite"], "rows": rows}
