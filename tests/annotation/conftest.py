from __future__ import annotations

from datetime import UTC, datetime

import pytest

from annotation.batches import Choice, create_batch
from bench.models import Trajectory
from tests.annotation import factories

NOW = datetime(2025, 4, 1, 9, 0, tzinfo=UTC)


@pytest.fixture
def now():
    return NOW


@pytest.fixture
def cast(db):
    return factories.make_cast()


@pytest.fixture
def run(db):
    return factories.make_run()


@pytest.fixture
def make_batch(cast, run):
    """A batch of the run's only domain; ``size`` trajectories, ``raters`` raters each."""

    def make(size=1, raters=2):
        return create_batch(
            run=run, choice=Choice.DOMAIN, domain="dining", size=size, raters_wanted=raters, created_by=cast["ada"]
        )

    return make


@pytest.fixture
def meal(run):
    """A trajectory that ends in a text: two checkpoints, both judged by reading."""
    return Trajectory.objects.filter(unit__run=run, unit__task__slug="meal").first()


@pytest.fixture
def booking(run):
    """A trajectory that ends in a call: three checkpoints, all decided by rule."""
    return Trajectory.objects.filter(unit__run=run, unit__task__slug="friday").first()


@pytest.fixture
def as_user(client, cast):
    def sign_in(name):
        client.force_login(cast[name])
        return client

    return sign_in
