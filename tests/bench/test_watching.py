"""Who watches a run from the command line waits with it, also while services are away."""

from __future__ import annotations

import time
from contextlib import ExitStack
from types import SimpleNamespace

import pytest
from django.db import OperationalError, connection

from bench.management.commands import run_benchmark
from bench.models import Run
from bench.runs.launch import launch_run
from bench.runs.spec import RunSpec
from tests.bench.live import database_url
from tests.bench.test_outages import nothing_seen, probe_now  # noqa: F401 (a fixture)

pytestmark = pytest.mark.django_db(transaction=True)  # the command closes its connection where something is away


@pytest.fixture
def run(tiny, offline):
    return launch_run(RunSpec(dataset="tiny", methods=["rag"], model="offline", limit=3))


@pytest.fixture
def watching(monkeypatch, capsys):
    """``watching(run, *moments)`` follows the run; the nth pause does what the nth moment says. What it said."""
    monkeypatch.setenv("DATABASE_URL", database_url())  # else it may start a worker on the home's own database

    def watch(run, *moments):
        left = iter(moments)
        clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: next(left)())
        monkeypatch.setattr(run_benchmark, "time", clock)
        run_benchmark.Watch(run_benchmark.Command(), run, ["offline"]).until_over()
        assert not list(left)
        return capsys.readouterr().err.splitlines()

    return watch


def nothing():
    """A pause in which nothing happens."""


def ends():
    Run.objects.update(status="done")


def test_the_command_waits_with_its_run_for_a_redis_that_is_away_and_ends_with_the_run(run, redis_away, watching):
    def back():
        redis_away(False)
        probe_now("Redis")

    said = watching(run, redis_away, nothing, nothing, back, ends)
    about_redis = [line for line in said if "Redis" in line]
    assert len(about_redis) == 2  # each once, however often it looked
    assert about_redis[0].startswith(f"run {run.pk}: waiting for Redis since ")
    assert about_redis[0].endswith("The run waits and goes on by itself.")
    assert about_redis[1] == f"run {run.pk}: Redis answers again"


def test_the_command_waits_with_its_run_for_a_postgresql_that_is_away_and_ends_with_the_run(run, watching):
    with ExitStack() as away:

        def goes():
            away.enter_context(connection.execute_wrapper(refuse))

        said = watching(run, goes, nothing, nothing, away.close, ends)
    refused = "the database system is starting up"
    assert said[1:] == [
        f"run {run.pk}: PostgreSQL does not answer ({refused}). The run waits and goes on by itself.",
        f"run {run.pk}: PostgreSQL answers again",
    ]


def refuse(*_):
    raise OperationalError("the database system is starting up")


def test_the_command_names_the_remedy_where_no_worker_comes_and_leaves_the_run_to_the_next(run, watching, monkeypatch):
    monkeypatch.setattr(run_benchmark, "NO_WORKER_AFTER_S", 0)
    with pytest.raises(ValueError, match=rf"start one with `make worker`. Run {run.pk} waits and goes on then"):
        watching(run)
    run.refresh_from_db()
    assert run.status == "running"
