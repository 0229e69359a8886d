"""A tiny dataset of the real catalogue, with vectors from the real embedding model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings

from bench import redis_server
from bench.catalogue import Catalogue
from bench.catalogue.store import store_catalogue
from bench.generation.build import Recipe, build_dataset, generate
from bench.generation.spec import PersonaSpec
from bench.models import Dataset
from bench.runs import calls
from iba_site import services
from tests.agents.support import python_server
from tests.bench.live import Ledger, Worker, database_url, ledger_before
from tests.kept import start_from


@pytest.fixture(scope="session")
def starter(catalogue: Catalogue) -> list[PersonaSpec]:
    return generate(catalogue, Recipe("starter", "starter", seed=1))


@pytest.fixture(scope="session")
def embeddings() -> None:
    services.ensure("embeddings")


def silent(text: str) -> None:
    """Progress that nobody needs."""


@pytest.fixture
def tiny(db: None, catalogue: Catalogue, embeddings: None) -> Dataset:
    return tiny_of(catalogue)


def tiny_of(catalogue: Catalogue) -> Dataset:
    def make() -> Dataset:
        store_catalogue(catalogue)
        return build_dataset(catalogue, Recipe("tiny", "tiny", seed=7), say=silent)

    return start_from("tiny", make)


@pytest.fixture(scope="session")
def ledger(django_db_setup: None, django_db_blocker: Any, embeddings: None) -> Iterator[Ledger]:
    """The simulated reader on the test database, with a go-between that writes down what it was asked."""
    with django_db_blocker.unblock():
        environment = {"DATABASE_URL": database_url(), "SECRET_KEY": settings.SECRET_KEY}
    with (
        python_server("-m", "bench.reader.server", "--port", "0", **environment) as (url, _),
        ledger_before(url) as ledger,
    ):
        yield ledger


@pytest.fixture(scope="module")
def worker(django_db_setup: None, django_db_blocker: Any, ledger: Ledger) -> Iterator[Worker]:
    """A living worker for a file's tests; it ends with them, since it takes up every run that it sees."""
    services.stop("worker")  # one of this home would take messages of units that its database does not have
    with django_db_blocker.unblock():
        worker = Worker(ledger.url, lease_s=600)  # nobody dies here, and a machine may stand still for a while
    yield worker
    worker.end()


@pytest.fixture
def offline(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    """The ledger, empty, in the place of the stand-in."""
    monkeypatch.setenv("OFFLINE_URL", ledger.url)
    ledger.begin()
    yield ledger
    ledger.release(drop=True)


@pytest.fixture
def redis_away(settings: Any) -> Iterator[Callable[..., None]]:
    """``redis_away()`` from then on; ``redis_away(False)`` brings it back."""
    there = settings.REDIS_URL

    def set_away(away: bool = True) -> None:
        settings.REDIS_URL = "redis://127.0.0.1:1/0" if away else there
        redis_server.redis_client.cache_clear()
        calls.limiter.cache_clear()

    yield set_away
    set_away(False)
