"""What is true of a task, by its events: which show a checkpoint's value, which another one, which nothing at all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg

from agents.contract import Trajectory as Course
from bench.grading.gap import CheckpointGold, over_applications
from bench.models import Checkpoint, CheckpointKind, EventLabel, EventRole

HOLDS_ELSEWHERE = ("expired", "conditional")  # conflicts whose losing value holds in a state that is over, or otherwise
OF_STATES = (EventRole.STATE_START, EventRole.STATE_COURSE, EventRole.STATE_END)


@dataclass(frozen=True, slots=True)
class Label:
    """What one event shows, as the history's author knows it."""

    event_id: str
    role: str
    dimension: str
    value: str


def labels_of(task_ids: Iterable[int]) -> dict[int, tuple[Label, ...]]:
    """By task, the labels of its persona's events that show something or look as if they did. One query."""
    found: dict[int, list[Label]] = {task_id: [] for task_id in task_ids}
    rows = EventLabel.objects.filter(event__persona__tasks__in=found).exclude(role=EventRole.EVERYDAY)
    fields = ("event__persona__tasks", "event_id", "role", "dimension", "value")
    for task_id, event_id, *label in rows.values_list(*fields):
        found[task_id].append(Label(str(event_id), *label))
    return {task_id: tuple(labels) for task_id, labels in found.items()}


def checkpoint_gold(
    checkpoint: Checkpoint, gold: frozenset[str], gold_of_task: frozenset[str], labels: Sequence[Label]
) -> CheckpointGold:
    """``gold`` and ``gold_of_task``: ids of the events behind this checkpoint, and behind any of its task.

    A losing value is shown by events labelled with it; that of a state which is over by the events of states on which
    no checkpoint of the task rests, since a state's events name no value.
    """
    rule: dict[str, Any] = checkpoint.rule or {}
    losing = {
        label.event_id for label in labels
        if label.role != EventRole.DISTRACTOR and label.dimension == checkpoint.dimension
        and label.value in checkpoint.losing_values
    }  # fmt: skip
    if checkpoint.conflict == "expired":
        losing |= {label.event_id for label in labels if label.role in OF_STATES} - gold_of_task
    losing -= gold
    distractors = (
        label.event_id for label in labels
        if label.role == EventRole.DISTRACTOR and label.dimension == checkpoint.dimension
    )  # fmt: skip
    return CheckpointGold(
        gold_event_ids=gold,
        losing_event_ids=frozenset(losing),
        losing_holds_elsewhere=checkpoint.conflict in HOLDS_ELSEWHERE,
        distractor_event_ids=frozenset(distractors),
        part=rule.get("argument", rule.get("item_field", "")),
    )


def gold_measures(task_id: int, course: Course) -> tuple[float | None, int | None]:
    """What a trajectory saw of its task's gold, and what it applied though it should not have.

    The first is the share of the task's gold events among what the model saw, duplicates folded in; None without
    gold events. The second counts constraints; None where the method draws none.
    """
    checkpoints, by_checkpoint = checkpoints_of([task_id])
    gold = frozenset().union(*by_checkpoint.values())
    seen = {event_id for e in course.evidence for event_id in (e.event_id, *e.support)}
    recall = len(gold & seen) / len(gold) if gold else None
    if not course.constraints:
        return recall, None
    labels = labels_of([task_id])[task_id]
    preferences = [c for c in checkpoints[task_id] if c.kind == CheckpointKind.PREFERENCE]
    true_of = [checkpoint_gold(c, by_checkpoint[c.pk], gold, labels) for c in preferences]
    losing = frozenset().union(*(one.losing_event_ids for one in true_of)) - gold
    distractors = frozenset(label.event_id for label in labels if label.role == EventRole.DISTRACTOR)
    return recall, len(over_applications(course, distractors, losing))


def checkpoints_of(task_ids: Iterable[int]) -> tuple[dict[int, list[Checkpoint]], dict[int, frozenset[str]]]:
    """Checkpoints by task, in order, and the ids of each one's gold events, as agents see them. One query."""
    checkpoints: dict[int, list[Checkpoint]] = defaultdict(list)
    gold: dict[int, frozenset[str]] = {}
    asked = Checkpoint.objects.filter(retired=False, task_id__in=set(task_ids))
    for checkpoint in asked.annotate(event_ids=ArrayAgg("evidence")).order_by("position"):
        checkpoints[checkpoint.task_id].append(checkpoint)
        gold[checkpoint.pk] = frozenset(str(event) for event in checkpoint.event_ids if event is not None)
    return checkpoints, gold
