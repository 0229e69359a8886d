"""A tiny dataset of the real catalogue, with vectors from the real embedding model."""

from __future__ import annotations

import pytest

from bench.catalogue import Catalogue, load_catalogue
from bench.catalogue.store import store_catalogue
from bench.generation.build import Recipe, build_dataset
from bench.models import Dataset
from iba_site import services


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    return load_catalogue()


@pytest.fixture(scope="session")
def embeddings() -> None:
    services.ensure("embeddings")


def silent(text: str) -> None:
    """Progress that nobody needs."""


@pytest.fixture
def tiny(db: None, catalogue: Catalogue, embeddings: None) -> Dataset:
    store_catalogue(catalogue)
    return build_dataset(catalogue, Recipe("tiny", "tiny", seed=7), say=silent)
