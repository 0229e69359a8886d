from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandParser

from bench.management.base import JsonCommand
from bench.models import Run
from bench.pages import numbers
from bench.results.agreement_report import agreement_of
from bench.results.agreement_shapes import Bounds, Narrowed


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
        for line in _lines(report):
            self.say(line)
        for action, part in report["by_action"].items() if len(report["by_action"]) > 1 else ():
            self.say(f"{numbers.action_words(action)}:")
            for line in _lines(part):
                self.say(f"  {line}")
        for warning in report["warnings"]:
            self.say(warning)
        return {**report}


def _lines(report: Narrowed) -> Iterator[str]:
    """Each kind of rater together, then what the panel is worth; with intervals and n, or the reason."""
    for row in report["overall"]:
        ac1, raw = _shown(row["ac1"], row["intervals"]["ac1"]), _shown(row["raw"], row["intervals"]["raw"])
        yield f"{row['kind']}: {row['reasons'].get('ac1') or f'AC1 {ac1}, raw {raw}'} (n = {row['n']})"
    votes = Bounds(low=report["effective_votes_low"], high=report["effective_votes_high"], reason=None)
    value = report["effective_votes_reason"] or _shown(report["effective_votes"], votes)
    yield f"effective votes: {value} (n = {report['effective_votes_n']})"


def _shown(value: float | None, interval: Bounds) -> str:
    text = numbers.interval(interval, sign=(interval["low"] or 0) < 0) or f"({interval['reason']})"
    return f"{numbers.share(value)} {text}"
