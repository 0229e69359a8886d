"""What every command of ours shares: --json PATH, errors as one line, progress on standard error."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, ProgrammingError
from redis.exceptions import RedisError

from agents.contract import LLMError
from agents.model.embeddings import EmbeddingError
from bench.catalogue import CatalogueError
from bench.database import first_line, what_to_do
from bench.files import write_file
from bench.runs.endpoints import KeyMissing, UnknownModel
from bench.runs.launch import LaunchError
from bench.search.vectors import EmbeddingsMissing

# Faults of what the user gave, or of what surrounds us. Anything else is our own fault and keeps its traceback.
EXPECTED = (
    CatalogueError,
    EmbeddingError,
    EmbeddingsMissing,
    KeyMissing,
    LaunchError,
    UnknownModel,
    ValueError,
    LookupError,
    OSError,
    LLMError,
    RedisError,
)


class JsonCommand(BaseCommand):
    """A command that writes one JSON document. Subclasses implement ``arguments`` and ``run``."""

    requires_system_checks = ()  # they import every page and chart: seconds, for a command that shows none

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", metavar="PATH", help="write the result as JSON to PATH, - for standard output")
        self.arguments(parser)

    def arguments(self, parser: CommandParser) -> None:
        """Add the command's own options."""

    def run(self, **options: Any) -> dict[str, Any]:
        """Do the work and return what --json writes."""
        raise TypeError(f"{type(self).__module__} does not say what to run")

    def failed(self, result: dict[str, Any]) -> str:
        """Why the exit code must not be 0, "" where it may."""
        return ""

    def handle(self, *args: Any, **options: Any) -> None:
        target = options.pop("json")
        if target not in (None, "-") and not Path(target).parent.is_dir():
            raise CommandError(f"--json {target}: there is no folder {Path(target).parent}")
        try:
            result = self.run(**options)
            self._write(target, result)
        except EXPECTED as error:
            raise CommandError(str(error)) from error
        except ProgrammingError as error:
            text = "the tables are missing or older than the code; run `manage.py migrate`"
            raise CommandError(f"{text}: {first_line(error)}") from error
        except OperationalError as error:
            raise CommandError(f"{what_to_do(error)}: {first_line(error)}") from error
        if reason := self.failed(result):
            raise CommandError(reason)

    def say(self, text: str) -> None:
        """Progress for people."""
        print(text, file=sys.stderr, flush=True)

    def _write(self, target: str | None, result: dict[str, Any]) -> None:
        text = json.dumps(result, indent=2, ensure_ascii=False, default=str)
        if target == "-":
            self.stdout.write(text)
        elif target:
            write_file(Path(target), text + "\n")
            self.say(f"wrote {target}")
