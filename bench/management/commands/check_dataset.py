from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from bench.generation.gates import check_dataset
from bench.management.base import JsonCommand
from bench.models import Dataset


class Command(JsonCommand):
    help = "Check a dataset against its validity gates. Exit code 0 only if all hold."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dataset", required=True)

    def run(self, **options: Any) -> dict[str, Any]:
        dataset = Dataset.objects.newest(options["dataset"])
        if dataset is None:
            raise ValueError(f"unknown dataset {options['dataset']!r}; make it with build_dataset")
        gates = [gate.to_json() for gate in check_dataset(dataset)]
        for gate in gates:
            self.say(f"{'ok  ' if gate['passed'] else 'FAIL'} {gate['name']}: {gate['value']} ({gate['limit']})")
        return {"gates": gates, "passed": all(gate["passed"] for gate in gates)}

    def failed(self, result: dict[str, Any]) -> str:
        broken = [gate["name"] for gate in result["gates"] if not gate["passed"]]
        return f"gates that do not hold: {', '.join(broken)}" if broken else ""
