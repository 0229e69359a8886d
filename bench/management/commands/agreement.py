from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from bench.management.base import JsonCommand
from bench.models import Run
from bench.results.agreement_report import agreement_of


class Command(JsonCommand):
    help = "How far raters and judges agree in a run: AC1, alpha, kappa, raw agreement, effective votes."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--run", type=int, required=True, help="number of the run")

    def run(self, **options: Any) -> dict[str, Any]:
        run = Run.objects.filter(pk=options["run"]).first()
        if run is None:
            known = ", ".join(map(str, Run.objects.values_list("pk", flat=True)[:5])) or "none yet"
            raise ValueError(f"there is no run {options['run']}; the newest are: {known}")
        report = agreement_of(run)
        for row in report["overall"]:
            value = row["reasons"].get("ac1") or f"AC1 {row['ac1']:.2f}, raw {row['raw']:.2f}"
            self.say(f"{row['kind']}: {value} (n = {row['n']})")
        for warning in report["warnings"]:
            self.say(warning)
        self.say(f"effective votes: {report['effective_votes'] or report['effective_votes_reason']}")
        return report
