"""How close a run comes to what its model's latency allows, with the real worker and the stand-in."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from bench.models import ModelCall, Run, RunStatus
from bench.perf.measure import Row, reference_s
from bench.runs.endpoints import OFFLINE, OFFLINE_JUDGES
from bench.runs.launch import launch_run
from bench.runs.tasks import dispatch
from iba_site import services

IN_FLIGHT = 128
LATENCY_S = 1.0
REPEATS = 4  # of the starter's 216 tasks, so that the start and the end of the run weigh little
SETTING = f"+latency={LATENCY_S:g}"


def flight(say: Callable[[str], None]) -> Iterator[Row]:
    """``iba`` on the starter dataset, 128 trajectories in flight, every call of agent and judges 1 s slow.

    The ideal: 128 calls under way at every moment. Raises ValueError without the dataset.
    """
    services.ensure("embeddings", "offline", "worker")
    reference = reference_s()
    slow = [f"{name}{SETTING}" for name in (OFFLINE, *OFFLINE_JUDGES)]
    bought = ModelCall.objects.filter(model__in=slow)
    bought.delete()  # of the last measurement; the stand-in's, so nobody paid for them
    run = launch_run(
        dataset="starter", methods=["iba"], model=slow[0], judges=slow[1:], repeats=REPEATS, max_in_flight=IN_FLIGHT
    )
    say(f"run {run.pk} is under way; this takes two minutes")
    wall_s = _wait(run)
    yield Row("share of the ideal throughput", bought.count() * LATENCY_S / IN_FLIGHT / wall_s, "of 1", reference)
    yield Row("units", run.units.count() / wall_s, "a second", reference)
    for name, record in services.status().items():
        process = record.process() if record and name.startswith("worker") else None
        if process is not None:
            family = [process, *process.children(recursive=True)]
            yield Row(f"memory of {name}", sum(p.memory_info().rss for p in family) / 1e6, "MB", reference)


def _wait(run: Run) -> float:
    """Seconds from launch to end."""
    while Run.objects.filter(pk=run.pk, status=RunStatus.RUNNING).exists():
        dispatch(run.pk)
        time.sleep(0.5)
    run.refresh_from_db()
    if run.finished_at is None:
        raise ValueError(f"run {run.pk} is {run.status}, not done; see log/worker.log under IBA_HOME")
    return (run.finished_at - run.created_at).total_seconds()
