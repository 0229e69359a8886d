from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from bench.conformance import check_agent
from bench.management.base import JsonCommand
from bench.runs.endpoints import is_offline
from bench.services import services


class Command(JsonCommand):
    help = "Run an agent on two small tasks against the simulated reader and tell what is missing."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("method", help="a registered method or entry point")
        parser.add_argument("--model", default="offline")

    def run(self, **options: Any) -> dict[str, Any]:
        if is_offline(options["model"]):
            services().ensure("embeddings", "offline")
        checks = check_agent(options["method"], options["model"])
        for check in checks:
            detail = f": {check['detail']}" if check["detail"] else ""
            self.say(f"{'ok  ' if check['passed'] else 'FAIL'} {check['name']}{detail}")
        return {"method": options["method"], "checks": checks, "passed": all(check["passed"] for check in checks)}

    def failed(self, result: dict[str, Any]) -> str:
        missing = [check["name"] for check in result["checks"] if not check["passed"]]
        return f"{result['method']} does not conform: {'; '.join(missing)}" if missing else ""
