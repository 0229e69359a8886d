from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from bench.generation.gates import check_dataset
from bench.generation.tiers import tier_shares
from bench.generation.validity.marking import mark
from bench.generation.validity.readers import read_shortcuts
from bench.generation.validity.shortcut import Shortcut
from bench.generation.validity.texts import Embed
from bench.management.base import JsonCommand
from bench.models import Dataset
from bench.pages import numbers
from bench.search.vectors import embed_texts
from bench.services import services


class Command(JsonCommand):
    help = "Check a dataset against its validity gates and mark its version. Exit code 0 only if all gates hold."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dataset", required=True)

    def run(self, **options: Any) -> dict[str, Any]:
        dataset = Dataset.objects.newest(options["dataset"])
        if dataset is None:
            raise ValueError(f"unknown dataset {options['dataset']!r}; make it with build_dataset")
        found = check_dataset(dataset)
        gates = [gate.to_json() for gate in found]
        for gate in gates:
            verdict = "ok  " if gate["passed"] else "FAIL" if gate["blocks"] else "WARN"
            self.say(f"{verdict} {gate['name']}: {gate['value']} (allowed: {gate['limit']}, n {gate['n']})")
            for name in gate["offenders"]:
                self.say(f"       {name}")
        tiers = tier_shares(dataset)
        for row in tiers:
            self.say(f"     {row['tier']}: {row['count']} preference checkpoints, {numbers.plain(row['share'])} of all")
        shortcuts = read_shortcuts(dataset, _embedder())
        self.say("shortcuts (docs/validity.md):")
        for shortcut in shortcuts:
            self.say(_line(shortcut))
        mark(dataset, found, shortcuts)
        self.say(f"{dataset} is marked {'valid' if dataset.valid else 'INVALID: no run without --even-if-invalid'}")
        rows = [shortcut.to_json() for shortcut in shortcuts]
        passed = all(gate["passed"] for gate in gates)
        return {"gates": gates, "tiers": tiers, "shortcuts": rows, "passed": passed, "valid": dataset.valid}

    def failed(self, result: dict[str, Any]) -> str:
        broken = [gate["name"] for gate in result["gates"] if not gate["passed"]]
        return f"gates that do not hold: {', '.join(broken)}" if broken else ""


def _embedder() -> Embed | None:
    """Embeds texts where a server of embeddings is known."""
    if not services().embeddings_url():
        return None
    return lambda texts, query: embed_texts(texts, kind="query" if query else "passage")


def _line(shortcut: Shortcut) -> str:
    row = shortcut.to_json()
    interval = f", {numbers.plain(row['low'])} to {numbers.plain(row['high'])}" if row["low"] is not None else ""
    value, limit = numbers.plain(row["value"]), numbers.plain(row["limit"])
    right = f", offenders {row['offenders_total']}" if row["verdict"] == "not met" else ""
    return f"{row['verdict']:12} {row['name']}: {value} (limit {limit}, n {row['n']}{interval}{right})"
