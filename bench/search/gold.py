"""The tasks of a dataset as probes: the request asks, the gold events answer."""

from __future__ import annotations

from bench.models import Checkpoint, Dataset, Task
from bench.search.engines import HistorySearch
from bench.search.evaluate import Probe


def dataset_probes(dataset: Dataset, split: str = "") -> list[Probe]:
    """One probe a task that has gold events; each searches its persona's history up to the task's moment.

    ``split``: dev, test or "" for both.
    """
    through = Checkpoint.evidence.through
    gold: dict[int, set[str]] = {}
    rows = through.objects.filter(checkpoint__task__persona__dataset=dataset)
    for task_id, event_id in rows.values_list("checkpoint__task_id", "event_id"):
        gold.setdefault(task_id, set()).add(str(event_id))
    probes = []
    tasks = Task.objects.of_dataset(dataset.pk)
    for task in (tasks.filter(persona__split=split) if split else tasks).order_by("pk"):
        if task.pk in gold:
            probes.append(_probe(task, frozenset(gold[task.pk])))
    return probes


def _probe(task: Task, gold: frozenset[str]) -> Probe:
    return Probe(
        task.request,
        gold,
        lambda text, k, engine: HistorySearch(task.persona_id, task.as_of)(text, k=k, engine=engine),
    )
