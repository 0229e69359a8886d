"""A pause and a cancel bind agents elsewhere."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from django.db import connection, transaction

from bench.models import Run, Trajectory, Unit, UnitStatus
from bench.runs.claim import cancel_run, pause_run, resume_run
from tests.bench.live import wait_for
from tests.site.external.support import open_run, post, refused, take

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_pause_binds_external_agents_until_the_run_is_resumed(client: httpx.Client):
    run_id = open_run(client)
    unit = take(client, run_id)["unit"]
    pause_run(run_id)
    asked = [client.post(f"/api/external/runs/{run_id}/next"), post(client, unit, "search", {"query": "x"})]
    asked += [post(client, unit, "tools", {"name": "x"}), post(client, unit, "submit", {"gave_up": "no"})]
    assert all(refused(answer, 409, f"run {run_id} is paused") for answer in asked)
    resume_run(run_id)
    assert take(client, run_id)["unit"] == unit
    assert post(client, unit, "submit", {"gave_up": "no"}).status_code == 200


def test_a_cancelled_run_takes_nothing_more_and_its_held_unit_ends(client: httpx.Client):
    run_id = open_run(client)
    unit = take(client, run_id)["unit"]
    cancel_run(run_id)
    assert refused(post(client, unit, "submit", {"gave_up": "no"}), 409, "was cancelled")
    assert refused(client.post(f"/api/external/runs/{run_id}/next"), 409, "was cancelled")
    assert set(Unit.objects.filter(run_id=run_id).values_list("status", flat=True)) == {UnitStatus.CANCELLED}
    assert not Trajectory.objects.exists()


@pytest.mark.parametrize(("change", "words"), [(pause_run, "is paused"), (cancel_run, "was cancelled")])
def test_a_submission_that_meets_a_pause_or_cancel_under_way_is_not_stored(client: httpx.Client, change, words: str):
    run_id = open_run(client, limit=1)
    unit = take(client, run_id)["unit"]
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            change(run_id)  # not yet seen by others
            answer = pool.submit(post, client, unit, "submit", {"gave_up": "no"})
            wait_for("the submission waits for the run", lambda: answer.done() or waiting())
        assert refused(answer.result(), 409, words)
    assert not Trajectory.objects.exists()
    held = {"is paused": UnitStatus.RUNNING, "was cancelled": UnitStatus.CANCELLED}[words]
    assert Unit.objects.get(pk=unit).status == held


def test_a_submission_that_has_its_unit_when_the_run_is_cancelled_ends_it(client: httpx.Client):
    run_id = open_run(client, limit=1)
    unit = take(client, run_id)["unit"]
    with ThreadPoolExecutor(2) as pool:
        with transaction.atomic():
            Run.objects.select_for_update().get(pk=run_id)
            answer = pool.submit(post, client, unit, "submit", {"gave_up": "no"})
            wait_for("the submission has its unit and waits for the run", lambda: waiting() == 1)
            cancel = pool.submit(in_thread, cancel_run, run_id)
            wait_for("the cancel waits for the run too", lambda: waiting() == 2)
        cancel.result()
        answer.result()
    stored = Trajectory.objects.filter(unit=unit).exists()  # the run's row goes to either of them first
    assert Unit.objects.get(pk=unit).status == (UnitStatus.SCORED if stored else UnitStatus.CANCELLED)


def test_what_an_agent_that_never_asks_again_holds_ends_with_the_cancel(client: httpx.Client):
    run_id = open_run(client, limit=2)
    unit = take(client, run_id)["unit"]
    cancel_run(run_id)
    row = Unit.objects.get(pk=unit)
    assert (row.status, row.lease_until) == (UnitStatus.CANCELLED, None)
    resume_run(run_id)
    assert take(client, run_id)["unit"] == unit


def in_thread(function, *values) -> None:
    try:
        function(*values)
    finally:
        connection.close()


def waiting() -> int:
    """Locks that are waited for. Unlike pg_stat_activity this is looked up anew within a transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return cursor.fetchone()[0]
