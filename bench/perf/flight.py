"""How close a run comes to what its model's latency allows, with the real worker and the simulated model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import NamedTuple

from django.db.models import QuerySet
from django.utils import timezone

from bench.models import ModelCall, Run, RunStatus, UnitStatus
from bench.perf.measure import Row, reference_s
from bench.reader.faults import OFFLINE, PANEL
from bench.runs.launch import launch_run
from bench.runs.spec import RunSpec
from bench.runs.tasks import dispatch
from bench.services import services

IN_FLIGHT = 128
LATENCY_S = 1.0
REPEATS = 4  # of the starter's 208 tasks, so that the start and the end of the run weigh little


def flight(say: Callable[[str], None]) -> Iterator[Row]:
    """``iba`` on the starter dataset, 128 trajectories in flight, every call of agent and judges 1 s slow.

    The ideal: 128 calls under way at every moment. It is held against the time in which 128 trajectories are in
    flight, and against the whole run, whose last trajectories end one by one. A run without latency goes before, in
    which the simulated model sees the texts for the first time. Raises ValueError without the dataset.
    """
    services().ensure("embeddings", "offline", "worker")
    reference = reference_s()
    say("a first run without latency")
    _wait(*_launch(0.0, repeats=1))
    run, bought = _launch(LATENCY_S, repeats=REPEATS)
    say(f"run {run.pk} is under way; this takes a minute and a half")
    full = _wait(run, bought)
    whole = full._replace(since=run.created_at, until=run.finished_at or full.until)
    yield Row("share of the ideal throughput", full.share(bought), "of 1", reference)
    yield Row("share of the ideal throughput, start and end included", whole.share(bought), "of 1", reference)
    yield Row("units", run.units.count() / whole.seconds, "a second", reference)
    for name, record in services().status().items():
        process = record.process() if record and name.startswith("worker") else None
        if process is not None:
            family = [process, *process.children(recursive=True)]
            yield Row(f"memory of {name}", sum(p.memory_info().rss for p in family) / 1e6, "MB", reference)


def _launch(latency_s: float, repeats: int) -> tuple[Run, QuerySet[ModelCall]]:
    """A run against a model of that latency, and the calls that it buys: none of an earlier run is replayed."""
    model, *judges = (f"{name}+latency={latency_s:g}" for name in (OFFLINE, *PANEL))
    bought = ModelCall.objects.filter(model__in=[model, *judges])
    bought.delete()  # the simulated model's, so nobody paid for them
    run = launch_run(
        RunSpec(
            dataset="starter", methods=["iba"], model=model, judges=judges, repeats=repeats, max_in_flight=IN_FLIGHT
        )
    )
    return run, bought


class Span(NamedTuple):
    """A part of the run."""

    since: datetime
    until: datetime

    @property
    def seconds(self) -> float:
        return (self.until - self.since).total_seconds()

    def share(self, calls: QuerySet[ModelCall]) -> float:
        """The calls answered in this time, over those that 128 trajectories could have had."""
        answered = calls.filter(created_at__gt=self.since, created_at__lte=self.until).count()
        return answered * LATENCY_S / IN_FLIGHT / self.seconds


def _wait(run: Run, bought: QuerySet[ModelCall]) -> Span:
    """From the first answers until no unit waits for a place any more; returns when the run is over."""
    since = until = run.created_at
    while Run.objects.filter(pk=run.pk, status=RunStatus.RUNNING).exists():
        dispatch(run.pk)
        if since == run.created_at and bought.exists():
            since = timezone.now()
        if run.units.filter(status=UnitStatus.QUEUED, enqueued_at__isnull=True).exists():
            until = timezone.now()
        time.sleep(0.5)
    run.refresh_from_db()
    if run.finished_at is None:
        raise ValueError(f"run {run.pk} is {run.status}, not done; see log/worker.log under IBA_HOME")
    return Span(since, until)
