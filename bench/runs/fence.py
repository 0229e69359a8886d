"""The fence between gold and agents elsewhere. It goes by the person: what one token reads, another can be told.

While somebody takes part in an open external run on a dataset, its gold is refused to him. Once he has read it, no task
of a run from before is handed out any more, also where the run is resumed; a run opened later is marked.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from agents.registry import EXTERNAL
from bench.models import ExternalSession, GoldReading, Run, RunStatus


class GoldWasRead(ValueError):
    """No task of this run is handed out any more; the message says why and what to do."""


def hold_fence(user_id: int, dataset_id: int) -> None:
    """Until the transaction has ended, this person neither starts to read the dataset's gold nor takes a task of it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(7413, hashtext(%s))", [f"{user_id} {dataset_id}"])


def read_gold(user_id: int, dataset_id: int) -> int | None:
    """None where the person may see the dataset's gold now, which is then on record; else the run in his way."""
    with transaction.atomic():
        hold_fence(user_id, dataset_id)
        in_the_way = _open_run(user_id, dataset_id)
        if in_the_way is None:
            now = timezone.now()
            GoldReading.objects.update_or_create(
                user_id=user_id, dataset_id=dataset_id, defaults={"last_at": now}, create_defaults={"last_at": now}
            )
    return in_the_way


def _open_run(user_id: int, dataset_id: int) -> int | None:
    unfinished = Run.objects.filter(dataset_id=dataset_id, status__in=[RunStatus.RUNNING, RunStatus.PAUSED])
    at_work = Q(pk__in=ExternalSession.objects.filter(workers=user_id).values("unit__run"))
    mine = unfinished.filter(Q(created_by=user_id) | at_work).order_by("pk").values_list("pk", "manifest")
    return next((pk for pk, manifest in mine if any(m.startswith(EXTERNAL) for m in manifest["methods"])), None)


def has_read(user_id: int, dataset_id: int) -> bool:
    return GoldReading.objects.filter(user=user_id, dataset=dataset_id).exists()


def check_unread(run: Run, also: User | None = None) -> None:
    """Raises GoldWasRead where somebody who takes part, or ``also``, has read the gold since the run was opened."""
    workers = ExternalSession.objects.filter(unit__run=run, workers__isnull=False).values("workers")
    part = Q(user=run.created_by_id) | Q(user__in=workers)
    if also is not None:
        part |= Q(user=also.pk)
    readings = GoldReading.objects.filter(part, dataset=run.dataset_id, last_at__gt=run.created_at)
    reading = readings.select_related("user").order_by("last_at").first()
    if reading is not None:
        raise GoldWasRead(
            f"run {run.pk} hands out no more tasks: {reading.user} has read gold of {run.dataset} since it was opened "
            f"(last on {reading.last_at:%Y-%m-%d %H:%M} UTC); open a new run, which will be marked as gold seen"
        )
