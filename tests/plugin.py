"""Real services for all tests, under an IBA_HOME of their own. Loaded before pytest-django reads the settings."""

from __future__ import annotations

import os
from pathlib import Path

_HOME = Path(os.environ.setdefault("IBA_HOME", str(Path(__file__).resolve().parent.parent / ".iba" / "test")))
os.environ.setdefault("LEASE_S", "4")
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # Playwright's loop runs in the thread that uses the ORM

from iba_site import services  # noqa: E402 (the environment must be set first)

services.ensure("postgres", "redis")


def pytest_configure() -> None:
    """The machine's speed is nobody's fault: examples have no deadline."""
    from hypothesis import settings

    settings.register_profile("suite", deadline=None)
    settings.load_profile("suite")
