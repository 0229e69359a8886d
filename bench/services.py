"""What the benchmark asks of the place it runs in. Who answers stands in ``settings.SERVICES``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Protocol, cast

import psutil
from django.conf import settings


class Record(Protocol):
    """One running service."""

    def process(self) -> psutil.Process | None:
        """None where it has ended."""


class Services(Protocol):
    def ensure(self, *names: str) -> Mapping[str, Record]:
        """Start what is not running yet. Raises OSError where a service cannot be started."""

    def status(self) -> Mapping[str, Record | None]: ...

    def is_embedded(self) -> bool:
        """True where the database is ours to start."""

    def embeddings_url(self) -> str:
        """Base URL of the embedding endpoint, "" where there is none."""

    def offline_url(self) -> str:
        """Base URL of the simulated reader, "" where it does not run."""


def services() -> Services:
    return cast(Services, import_module(settings.SERVICES))
