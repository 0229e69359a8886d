"""Checkpoints that were found wrong: retired for every run of their dataset, and put back.

Nothing that an agent, a judge or a rater said is changed. Scores are what verdicts add up to, so those of a retired
checkpoint are dropped and those of one that was put back are computed anew; no agent runs again.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from agents.contract.serialise import from_json
from bench.grading.gold import gold_measures
from bench.grading.settled import settled_share
from bench.grading.store import score_trajectories
from bench.models import Checkpoint, CheckpointScore, Dataset, Erratum, Task, Trajectory

LONGEST_REASON = 1000


@transaction.atomic
def retire(checkpoint_id: int, *, reason: str, by: str) -> Erratum:
    """Ask nobody about the checkpoint any more and count it nowhere; the dataset gets a new revision.

    Raises Checkpoint.DoesNotExist, and ValueError without a reason or where it is retired already.
    """
    reason = reason.strip()
    if not 0 < len(reason) <= LONGEST_REASON:
        raise ValueError(f"Say in 1 to {LONGEST_REASON} characters why the checkpoint is wrong; got {len(reason)}.")
    checkpoint, dataset = _locked(checkpoint_id)
    if checkpoint.retired:
        raise ValueError(f"Checkpoint {checkpoint_id} is retired already.")
    erratum = Erratum.objects.create(
        dataset=dataset, checkpoint=checkpoint, revision=_next_revision(dataset), reason=reason, by=by
    )
    Checkpoint.objects.filter(pk=checkpoint_id).update(retired=True)
    CheckpointScore.objects.filter(checkpoint=checkpoint).delete()
    _measure_again(checkpoint.task)
    return erratum


@transaction.atomic
def put_back(checkpoint_id: int, *, by: str) -> Erratum:
    """Count the checkpoint again, by the verdicts that there are. Raises ValueError where it is not retired."""
    checkpoint, dataset = _locked(checkpoint_id)
    erratum = Erratum.objects.in_force().filter(checkpoint=checkpoint).first()
    if erratum is None:
        raise ValueError(f"Checkpoint {checkpoint_id} is not retired.")
    erratum.put_back_at, erratum.put_back_by = timezone.now(), by
    erratum.save(update_fields=["put_back_at", "put_back_by"])
    _next_revision(dataset)
    Checkpoint.objects.filter(pk=checkpoint_id).update(retired=False)
    scored = CheckpointScore.objects.filter(checkpoint__task=checkpoint.task)
    score_trajectories(scored.values_list("trajectory_id", flat=True).distinct())
    _measure_again(checkpoint.task)
    return erratum


def _locked(checkpoint_id: int) -> tuple[Checkpoint, Dataset]:
    """Under the lock that a trigger on new scores waits for, so none is written for what is being retired."""
    checkpoint = Checkpoint.objects.select_for_update().get(pk=checkpoint_id)
    return checkpoint, Dataset.objects.get(personas__tasks=checkpoint.task_id)


def _next_revision(dataset: Dataset) -> int:
    same = Dataset.objects.filter(pk=dataset.pk)
    same.update(revision=F("revision") + 1)
    return same.values_list("revision", flat=True).get()


def _measure_again(task: Task) -> None:
    """What trajectories of the task saw of its gold, now that the gold is another."""
    task = Task.objects.select_related("scenario__domain").get(pk=task.pk)
    for trajectory in Trajectory.objects.filter(unit__task=task).only("pk", "data").iterator(chunk_size=100):
        course = from_json(trajectory.data)
        recall, over_applied = gold_measures(task.pk, course)
        Trajectory.objects.filter(pk=trajectory.pk).update(
            evidence_recall=recall, over_applied=over_applied, settled=settled_share(task, course.evidence)
        )
