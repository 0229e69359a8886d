"""Validity gates: what must hold of a dataset before its numbers mean anything."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from bench.catalogue.words import content_stems, holds_phrase
from bench.generation.validity.content import descriptions_of, questions_of
from bench.models import Checkpoint, CheckpointKind, Dataset, Event, EventLabel, Task
from bench.runs.rehearsal import odds_without_history, unsolved

NEAR_CHANCE = 0.03


@dataclass(frozen=True)
class Gate:
    """One gate: ``value`` was measured on the rows, ``limit`` says what is allowed."""

    name: str
    value: float
    limit: str
    passed: bool
    offenders: tuple[str, ...] = ()  # what breaks it, by name, twenty at most

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def check_dataset(dataset: Dataset) -> list[Gate]:
    """All gates, in a fixed order."""
    preferences = list(
        Checkpoint.objects.filter(task__persona__dataset=dataset, kind=CheckpointKind.PREFERENCE)
        .select_related("task__scenario__domain")
        .prefetch_related("evidence")
    )
    by_task: dict[int, list[Checkpoint]] = defaultdict(list)
    for checkpoint in preferences:
        by_task[checkpoint.task_id].append(checkpoint)
    labels = _labels(dataset)
    return [
        _none("gold evidence after the as-of time", sum(_late(c) for c in preferences)),
        _none("preference checkpoints without gold evidence", sum(not c.evidence.all() for c in preferences)),
        _at_least("share of tasks with 3 or more constraints", _share(by_task, lambda c: len(c) >= 3), 0.8),
        _at_least("share of tasks with 5 or more gold events", _share(by_task, lambda c: len(_events(c)) >= 5), 0.6),
        _none("cues that name their value", _named_values(dataset)),
        _none("requests that name a value they should not", _telling_requests(preferences, labels)),
        _none("distractors among the gold events", _distracting(preferences)),
        _none("API tasks without an item that satisfies all", _unsolvable(dataset, by_task)),
        _none("texts that stand twice in one history", _repeated(dataset)),
        _at_least("kinds of conflict", float(len({c.conflict for c in preferences} - {""})), 4),
        _unsolved(dataset),
        *_blind(dataset),
        _at_most("share of the most frequent value over its dimension, mean", _majority(preferences), 0.7),
    ]


def _none(name: str, count: int) -> Gate:
    return Gate(name, float(count), "0", count == 0)


def _unsolved(dataset: Dataset) -> Gate:
    """Shown all gold evidence, the ideal reader meets every checkpoint; a task where it does not is broken."""
    tasks = Task.objects.of_dataset(dataset.pk).select_related("scenario__domain").prefetch_related("checkpoints")
    missed = unsolved(tasks)
    names = tuple(f"{played.task.slug}: {played.checkpoint.text}" for played in missed[:20])
    name = "checkpoints that the ideal reader misses with all gold evidence"
    return Gate(name, float(len(missed)), "0", not missed, names)


def _blind(dataset: Dataset) -> Iterator[Gate]:
    """Without history the ideal reader settles nothing, and does as well as one pick at random."""
    descriptions = descriptions_of(dataset)
    tasks = Task.objects.of_dataset(dataset.pk).select_related("scenario__domain", "persona")
    asked = [
        (task, odds_without_history(task), questions_of(task, descriptions))
        for task in tasks.prefetch_related("checkpoints")
    ]
    told = [q.name for _, odds, questions in asked for pk, q in questions.items() if odds[pk] in (0.0, 1.0)]
    name = "preferences that the ideal reader settles without history"
    yield Gate(name, float(len(told)), "0", not told, tuple(told[:20]))
    found = _mean([_mean(list(odds.values())) for _, odds, _ in asked])
    chance = _mean([_mean([q.chance for q in questions.values()]) for _, _, questions in asked])
    limit = f"at most {NEAR_CHANCE} from chance, {chance:.4f}"
    name = "preference satisfaction of the ideal reader without history"
    yield Gate(name, round(found, 4), limit, abs(found - chance) <= NEAR_CHANCE)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _at_least(name: str, value: float, limit: float) -> Gate:
    return Gate(name, round(value, 4), f"at least {limit}", value >= limit)


def _at_most(name: str, value: float, limit: float) -> Gate:
    return Gate(name, round(value, 4), f"at most {limit}", value <= limit)


def _late(checkpoint: Checkpoint) -> bool:
    return any(event.occurred_at >= checkpoint.task.as_of for event in checkpoint.evidence.all())


def _events(checkpoints: list[Checkpoint]) -> set[int]:
    return {event.pk for checkpoint in checkpoints for event in checkpoint.evidence.all()}


def _share(by_task: dict[int, list[Checkpoint]], holds: Any) -> float:
    return sum(map(holds, by_task.values())) / len(by_task) if by_task else 0.0


def _labels(dataset: Dataset) -> dict[tuple[str, str], str]:
    """(dimension, value) -> label, in the words of the dataset's own version."""
    from bench.models import Dimension

    return {
        (dimension.reference, option["slug"]): option["label"]
        for dimension in Dimension.objects.filter(data_version=dataset.data_version).select_related("domain")
        for option in dimension.options
    }


def _named_values(dataset: Dataset) -> int:
    labels = _labels(dataset)
    cues = EventLabel.objects.filter(event__persona__dataset=dataset, role__in=["cue", "condition", "against"])
    return sum(
        bool(content_stems(labels.get((dimension, value), "")) & content_stems(text))
        for dimension, value, text in cues.values_list("dimension", "value", "event__text")
    )


def _telling_requests(checkpoints: list[Checkpoint], labels: dict[tuple[str, str], str]) -> int:
    """Requests that hold the whole label of a value which they should leave open."""
    return sum(holds_phrase(c.task.request, labels.get((c.dimension, c.value), "")) for c in checkpoints)


def _distracting(checkpoints: list[Checkpoint]) -> int:
    gold = {event.pk for checkpoint in checkpoints for event in checkpoint.evidence.all()}
    return EventLabel.objects.filter(event_id__in=gold, role__in=["distractor", "everyday"]).count()


def _unsolvable(dataset: Dataset, by_task: dict[int, list[Checkpoint]]) -> int:
    tasks = Task.objects.of_dataset(dataset.pk).exclude(world={}).prefetch_related("checkpoints")
    return sum(not _solvable(task) for task in tasks)


def _solvable(task: Task) -> bool:
    wanted = {
        c.rule["item_field"]: str(c.rule["equals"]) for c in task.checkpoints.all() if c.rule and "item_field" in c.rule
    }
    return any(all(str(item.get(f)) == value for f, value in wanted.items()) for item in task.world["items"])


def _repeated(dataset: Dataset) -> int:
    rows = Event.objects.filter(persona__dataset=dataset).values_list("persona_id", "text_sha256")
    return sum(count - 1 for count in Counter(rows).values())


def _majority(checkpoints: list[Checkpoint]) -> float:
    """Mean over dimensions of how often a guesser of the most frequent value would be right."""
    values: dict[str, Counter[str]] = defaultdict(Counter)
    for checkpoint in checkpoints:
        values[checkpoint.dimension][checkpoint.value] += 1
    shares = [max(counts.values()) / counts.total() for counts in values.values() if counts.total() >= 5]
    return sum(shares) / len(shares) if shares else 0.0
