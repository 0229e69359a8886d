from __future__ import annotations

from typing import Any

from bench.catalogue import load_catalogue
from bench.catalogue.store import store_catalogue
from bench.management.base import JsonCommand


class Command(JsonCommand):
    help = "Check bench/data and write domains, dimensions and scenarios to the database. Safe to run again."

    def run(self, **options: Any) -> dict[str, Any]:
        counts = store_catalogue(load_catalogue())
        self.say(", ".join(f"{name} {value}" for name, value in counts.items()))
        return dict(counts)
