"""Who works on a unit. Every change of hands is one conditional UPDATE, so any process may die at any moment."""

from __future__ import annotations

import random
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from agents.registry import EXTERNAL
from bench.grading.coverage import without_answer
from bench.models import Run, RunStatus, Trajectory, Unit, UnitStatus
from bench.models.run import OPEN_STATUSES
from bench.runs.endpoints import KeyMissing, UnknownModel
from bench.runs.fence import GoldWasRead, check_unread
from bench.runs.reach import learn_system_role

MAX_ATTEMPTS = 6  # claims of one unit, counting those of workers that died
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
_jitter = random.SystemRandom()
LOST_AFTER_LEASES = 3  # a message that no worker took for so many leases is sent again

_BEFORE = {UnitStatus.RUNNING: UnitStatus.QUEUED, UnitStatus.JUDGING: UnitStatus.ACTED}


def _runs(status: RunStatus) -> QuerySet[Run]:
    """For ``run__in`` in an UPDATE. A join would move all conditions into a subquery, which PostgreSQL does not
    look at again when a row has changed under it: two workers could then claim one unit."""
    return Run.objects.filter(status=status)


def lost_after() -> timedelta:
    return timedelta(seconds=LOST_AFTER_LEASES * settings.LEASE_S)


def claim(unit_id: int, status: UnitStatus, worker: str) -> bool:
    """Take the unit from its waiting status to ``status`` (running or judging). False where another was first."""
    return bool(
        Unit.objects.filter(pk=unit_id, status=_BEFORE[status], run__in=_runs(RunStatus.RUNNING)).update(
            status=status,
            claimed_by=worker,
            lease_until=timezone.now() + timedelta(seconds=settings.LEASE_S),
            attempts=F("attempts") + 1,
        )
    )


def give_back(unit_id: int, status: UnitStatus, worker: str) -> None:
    """Undo a claim without having done the work, such as when the budget is used up."""
    Unit.objects.filter(pk=unit_id, status=status, claimed_by=worker).update(
        status=_BEFORE[status], claimed_by="", lease_until=None, enqueued_at=None, attempts=F("attempts") - 1
    )


def postpone(unit_id: int, worker: str, *, waits_for: str, reason: str, counts: bool) -> None:
    """Give the unit back because something was away, for a pause that grows from time to time.

    ``counts``: as an attempt of its own, of which it has as many as there are deaths of workers.
    """
    unit = Unit.objects.filter(pk=unit_id).values("status", "claimed_by", "attempts", "waits").first()
    if unit is None:
        return
    if unit["claimed_by"] == worker and counts and unit["attempts"] >= MAX_ATTEMPTS:
        fail(unit_id, worker, reason)
        return
    pause = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(unit["waits"], 10)) * _jitter.uniform(0.75, 1.0)
    later = {
        "enqueued_at": None,
        "wait_until": timezone.now() + timedelta(seconds=pause),
        "waits": F("waits") + 1,
        "waits_for": waits_for,
    }
    Unit.objects.filter(pk=unit_id, status__in=_BEFORE.values()).update(**later)  # its claim did not come to pass
    for working, waiting in _BEFORE.items():
        Unit.objects.filter(pk=unit_id, status=working, claimed_by=worker).update(
            status=waiting,
            claimed_by="",
            lease_until=None,
            attempts=F("attempts") if counts else F("attempts") - 1,
            **later,
        )


def send_again() -> list[int]:
    """The queue has forgotten its messages. Returns the runs whose units are to be sent once more."""
    sent = Unit.objects.filter(status__in=_BEFORE.values(), run__in=_runs(RunStatus.RUNNING), enqueued_at__isnull=False)
    runs = sorted(set(sent.order_by().values_list("run_id", flat=True)))
    sent.update(enqueued_at=None)
    return runs


def not_sent(unit_ids: Iterable[int]) -> None:
    """The queue took no message about these."""
    Unit.objects.filter(pk__in=list(unit_ids), status__in=_BEFORE.values()).update(enqueued_at=None)


def stop(unit_id: int, status: UnitStatus, worker: str) -> None:
    """End the work on a unit whose run was cancelled. A trajectory that waits for judges goes on waiting.

    Where the run was resumed meanwhile, the unit goes back to the queue.
    """
    if status == UnitStatus.RUNNING:
        Unit.objects.filter(pk=unit_id, status=status, claimed_by=worker, run__in=_runs(RunStatus.CANCELLED)).update(
            status=UnitStatus.CANCELLED, lease_until=None, finished_at=timezone.now()
        )
    give_back(unit_id, status, worker)


def fail(unit_id: int, worker: str, error: str) -> None:
    """Record why the work on a unit broke, if it is still this worker's."""
    Unit.objects.filter(pk=unit_id, status__in=list(_BEFORE), claimed_by=worker).update(
        status=UnitStatus.FAILED, error=error, lease_until=None, finished_at=timezone.now()
    )


def extend_leases(unit_ids: list[int], worker: str) -> None:
    Unit.objects.filter(pk__in=unit_ids, claimed_by=worker).update(
        lease_until=timezone.now() + timedelta(seconds=settings.LEASE_S)
    )


def take_back_expired() -> list[int]:
    """Free the units of dead workers, and those whose message got lost. Returns the runs concerned."""
    now = timezone.now()
    runs: set[int] = set()
    for working, waiting in _BEFORE.items():
        expired = Unit.objects.filter(status=working, lease_until__lt=now)
        hopeless = expired.filter(attempts__gte=MAX_ATTEMPTS)
        runs.update(hopeless.values_list("run_id", flat=True))
        hopeless.update(
            status=UnitStatus.FAILED,
            lease_until=None,
            finished_at=now,
            error=f"{MAX_ATTEMPTS} attempts ended without a result: each time the worker died; see its log",
        )
        runs.update(expired.values_list("run_id", flat=True))
        expired.update(status=waiting, claimed_by="", lease_until=None, enqueued_at=None)
    # What a dead worker held when its run was cancelled.
    Unit.objects.filter(status=UnitStatus.QUEUED, run__in=_runs(RunStatus.CANCELLED)).update(
        status=UnitStatus.CANCELLED, finished_at=now
    )
    lost = Unit.objects.filter(
        status__in=_BEFORE.values(), run__in=_runs(RunStatus.RUNNING), enqueued_at__lt=now - lost_after()
    )
    runs.update(lost.values_list("run_id", flat=True))
    lost.update(enqueued_at=None)
    return sorted(runs)


_TAKE = """
    WITH away AS (
        SELECT bool_or(row.endpoint IN ('', run.model)) AS agents,
               bool_or(row.endpoint = '' OR run.manifest->'policy'->'panel' ? row.endpoint) AS judges
        FROM bench_outagerow AS row, bench_run AS run WHERE row.is_open AND run.id = %(run)s
    ), room AS (
        SELECT run.max_in_flight - (
            SELECT count(*) FROM bench_unit AS busy
            WHERE busy.run_id = run.id AND busy.status = ANY(%(open)s) AND busy.enqueued_at IS NOT NULL
        ) AS units
        FROM bench_run AS run WHERE run.id = %(run)s AND run.status = %(running)s
    ), chosen AS (
        SELECT id FROM bench_unit
        WHERE run_id = %(run)s AND enqueued_at IS NULL
            AND (wait_until IS NULL OR wait_until <= %(now)s)
            AND (status = %(acted)s AND NOT coalesce((SELECT judges FROM away), false)
                OR status = %(queued)s AND NOT coalesce((SELECT agents FROM away), false)
                    AND NOT starts_with(method, %(external)s))
        ORDER BY status, id
        LIMIT greatest(0, coalesce((SELECT units FROM room), 0))
    )
    UPDATE bench_unit SET enqueued_at = %(now)s WHERE id IN (SELECT id FROM chosen) RETURNING id, status
"""


def take_for_queue(run_id: int) -> list[tuple[int, str]]:
    """Units to send to the queue now, as (id, status), within the run's max_in_flight. Marks them as sent.

    Judging comes first: it finishes what was paid for. Nothing is sent that needs what is away. An external agent
    fetches its own tasks; only the judging of what it did is ours. One statement, since every unit that ends comes
    by here.
    """
    values: dict[str, Any] = {
        "run": run_id,
        "running": RunStatus.RUNNING,
        "open": list(OPEN_STATUSES),
        "queued": UnitStatus.QUEUED,
        "acted": UnitStatus.ACTED,
        "external": EXTERNAL,
        "now": timezone.now(),
    }
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(7411, %s)", [run_id])
        cursor.execute(_TAKE, values)
        return sorted(cursor.fetchall(), key=lambda row: (row[1], row[0]))


def finish_if_over(run_id: int) -> bool:
    """Mark the run done once no unit is open. True for the one caller that did it."""
    if Unit.objects.filter(run_id=run_id, status__in=OPEN_STATUSES).exists():
        return False
    return bool(
        Run.objects.filter(pk=run_id, status=RunStatus.RUNNING).update(
            status=RunStatus.DONE, finished_at=timezone.now(), results=None
        )
    )


def cancel_run(run_id: int) -> None:
    """Stop new work at once; what is in flight ends at its next model call. Finished trajectories stay."""
    now = timezone.now()
    with transaction.atomic():
        Run.objects.filter(pk=run_id, status__in=[RunStatus.RUNNING, RunStatus.PAUSED]).update(
            status=RunStatus.CANCELLED, finished_at=now, results=None
        )
        Unit.objects.filter(run_id=run_id, status=UnitStatus.QUEUED).update(
            status=UnitStatus.CANCELLED, finished_at=now
        )
    # An agent elsewhere may never ask again. What is locked is being submitted: it meets the cancel and ends itself.
    away = Unit.objects.filter(run_id=run_id, run__in=_runs(RunStatus.CANCELLED), method__startswith=EXTERNAL)
    with transaction.atomic():
        held = away.filter(status=UnitStatus.RUNNING).select_for_update(skip_locked=True, of=("self",))
        Unit.objects.filter(pk__in=[unit.pk for unit in held]).update(
            status=UnitStatus.CANCELLED, lease_until=None, finished_at=now
        )


def pause_run(run_id: int, *, budget_hit: bool = False) -> None:
    Run.objects.filter(pk=run_id, status=RunStatus.RUNNING).update(status=RunStatus.PAUSED, budget_hit=budget_hit)


def resume_run(run_id: int) -> None:
    """Go on with a paused or cancelled run; a run that is done stays so. Failed units stay failed; see retry_failed.

    Raises GoldWasRead for a run of an agent elsewhere whose people have read the answers meanwhile.
    """
    run = Run.objects.get(pk=run_id)
    _check_unread(run)
    _learn_what_models_take(run)
    with transaction.atomic():
        if _reopen(run_id, [RunStatus.PAUSED, RunStatus.CANCELLED]):
            _requeue(run_id)


def retry_failed(run_id: int) -> int:
    """Queue the failed units again: for the agent, or for the judges where the trajectory is there. Also for the
    judges: scored units on which a judge of the panel gave no usable verdict. Returns how many units.

    Calls that were paid for are replayed, not bought again, but for replies of judges that could not be used. An agent
    elsewhere whose people have read the answers meanwhile is not asked again; its judges are.
    """
    run = Run.objects.get(pk=run_id)
    acts = _may_act(run)
    _learn_what_models_take(run)
    fresh = {"error": "", "attempts": 0, "waits": 0, "claimed_by": "", "finished_at": None, "enqueued_at": None}
    with transaction.atomic():
        failed = Unit.objects.filter(run_id=run_id, status=UnitStatus.FAILED)
        done = Trajectory.objects.filter(unit__run=run_id).values("unit_id")
        count = failed.filter(pk__in=done).update(status=UnitStatus.ACTED, **fresh)
        if acts:
            count += failed.update(status=UnitStatus.QUEUED, **fresh)
        silent = without_answer(run).values("trajectory__unit")
        count += Unit.objects.filter(pk__in=silent, status=UnitStatus.SCORED).update(status=UnitStatus.ACTED, **fresh)
        if count:
            _reopen(run_id, list(RunStatus))
            _requeue(run_id, acts=acts)
    return count


def _check_unread(run: Run) -> None:
    if any(method.startswith(EXTERNAL) for method in run.manifest["methods"]):
        check_unread(run)


def _learn_what_models_take(run: Run) -> None:
    """The run may be older than the question. Where nobody answers now, units wait, and a probe asks."""
    for name in dict.fromkeys([run.model, *run.manifest["policy"]["panel"]]):
        with suppress(UnknownModel, KeyMissing):
            learn_system_role(name)


def _may_act(run: Run) -> bool:
    """Whether the run's agent may go on; its judges always may."""
    try:
        _check_unread(run)
    except GoldWasRead:
        return False
    return True


def _reopen(run_id: int, statuses: list[RunStatus]) -> bool:
    runs = Run.objects.filter(pk=run_id, status__in=statuses)
    return bool(runs.update(status=RunStatus.RUNNING, finished_at=None, budget_hit=False, results=None))


def _requeue(run_id: int, *, acts: bool = True) -> None:
    """Cancelled units wait again if the agent may act, and messages that a stopped run swallowed are sent again."""
    units = Unit.objects.filter(run_id=run_id)
    if acts:
        units.filter(status=UnitStatus.CANCELLED).update(status=UnitStatus.QUEUED, finished_at=None)
    units.filter(status__in=_BEFORE.values()).update(enqueued_at=None)
