"""What holds for every test."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from bench.catalogue import Catalogue, load_catalogue

_OTHERS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
_PATIENCE_S = 5


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    return load_catalogue()


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Before the test database is dropped, whoever is still connected gets a moment to leave and is then sent away.

    Threads of a live server and killed workers may hold a connection a little longer than the last test.
    """
    yield
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        deadline = time.monotonic() + _PATIENCE_S
        while cursor.execute(_OTHERS).fetchone() and time.monotonic() < deadline:
            time.sleep(0.05)
        cursor.execute(_OTHERS.replace("SELECT pid", "SELECT pg_terminate_backend(pid)"))
