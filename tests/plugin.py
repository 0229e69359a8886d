"""Real services for all tests, under an IBA_HOME of their own. Loaded before pytest-django reads the settings.

Of several test processes each has a home, and so a database, a Redis and model servers, of its own.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_HOME = os.environ.setdefault("IBA_HOME", str(Path(__file__).resolve().parent.parent / ".iba" / "test"))
_PROCESS = os.environ.get("PYTEST_XDIST_WORKER", "")
_ONLY_HANDS_OUT = not _PROCESS and any(argument.startswith(("-n", "--numprocesses")) for argument in sys.argv)
if _PROCESS:
    os.environ["IBA_HOME"] = str(Path(_HOME) / _PROCESS)
os.environ.setdefault("LEASE_S", "4")
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # Playwright's loop runs in the thread that uses the ORM

from iba_site import services  # noqa: E402 (the environment must be set first)

if not _ONLY_HANDS_OUT:
    services.ensure("postgres", "redis", "embeddings", "offline")


def pytest_configure() -> None:
    """The machine's speed is nobody's fault: examples have no deadline."""
    from hypothesis import settings

    settings.register_profile("suite", deadline=None)
    settings.load_profile("suite")
