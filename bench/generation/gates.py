"""Validity gates: what must hold of a dataset before its numbers mean anything."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from django.db.models import Prefetch

from bench.catalogue.words import content_stems, holds_phrase
from bench.generation.validity.content import descriptions_of, questions_of
from bench.generation.validity.contested import contested_of
from bench.generation.validity.contradictions import contradictions
from bench.generation.validity.evidence import evidence_gates
from bench.generation.validity.gate import Gate, at_least, at_most, none_of
from bench.generation.validity.mix import shares
from bench.models import Checkpoint, CheckpointKind, Dataset, Dimension, Event, EventLabel, Task
from bench.runs.rehearsal import odds_without_history, unsolved

NEAR_CHANCE = 0.03
ByTask = Mapping[int, Sequence[Checkpoint]]


def check_dataset(dataset: Dataset, *, play_at_most: int | None = None) -> list[Gate]:
    """All gates, in a fixed order. ``play_at_most``: so many tasks are played by the ideal reader, spread evenly."""
    preferences = list(
        Checkpoint.objects.filter(retired=False, task__persona__dataset=dataset, kind=CheckpointKind.PREFERENCE)
        .select_related("task__scenario__domain")
        .prefetch_related("evidence")
    )
    by_task: dict[int, list[Checkpoint]] = defaultdict(list)
    for checkpoint in preferences:
        by_task[checkpoint.task_id].append(checkpoint)
    tasks = list(
        Task.objects.of_dataset(dataset.pk)
        .select_related("scenario__domain", "persona")
        .prefetch_related(Prefetch("checkpoints", Checkpoint.objects.filter(retired=False)))
        .order_by("slug")
    )
    played = tasks[:: max(1, -(-len(tasks) // play_at_most))] if play_at_most else tasks
    return [
        _each("gold evidence after the as-of time", preferences, _late),
        _each("preference checkpoints without gold evidence", preferences, lambda c: not c.evidence.all()),
        _share("share of tasks with 3 or more constraints", by_task, lambda c: len(c) >= 3, 0.8),
        _share("share of tasks with 5 or more gold events", by_task, lambda c: len(_events(c)) >= 5, 0.6),
        _named_values(dataset),
        _telling_requests(dataset, preferences),
        _distracting(preferences),
        _unsolvable(tasks),
        _repeated(dataset),
        at_least("kinds of conflict", len({c.conflict for c in preferences} - {""}), 4, len(preferences)),
        *(at_least(name, share, least, len(preferences)) for name, share, least in shares(preferences)),
        _contested(preferences),
        *evidence_gates(dataset, preferences),
        contradictions(dataset),
        _unsolved(played),
        *_blind(dataset, played),
        _majority(preferences),
    ]


def _each(name: str, preferences: Sequence[Checkpoint], broken: Callable[[Checkpoint], bool]) -> Gate:
    return none_of(name, [_name(c) for c in preferences if broken(c)], len(preferences))


def _name(checkpoint: Checkpoint) -> str:
    return f"{checkpoint.task.slug}: {checkpoint.text}"


def _share(name: str, by_task: ByTask, holds: Callable[[Sequence[Checkpoint]], bool], limit: float) -> Gate:
    return at_least(name, sum(map(holds, by_task.values())) / max(1, len(by_task)), limit, len(by_task))


def _contested(preferences: Sequence[Checkpoint]) -> Gate:
    """With the gold events the right one of two preferences goes first, without the records in half of the cases."""
    found = contested_of(preferences)
    unsound = [one.name for one in found if not one.sound]
    return none_of("contested preferences that records do not settle, or that something else does", unsound, len(found))


def _unsolved(tasks: Sequence[Task]) -> Gate:
    """Shown all gold evidence, the ideal reader meets every checkpoint; a task where it does not is broken."""
    missed = [f"{played.task.slug}: {played.checkpoint.text}" for played in unsolved(tasks)]
    count = sum(len(task.checkpoints.all()) for task in tasks)
    return none_of("checkpoints that the ideal reader misses with all gold evidence", missed, count)


def _blind(dataset: Dataset, tasks: Sequence[Task]) -> Iterator[Gate]:
    """Without history the ideal reader settles nothing, and does as well as one pick at random."""
    descriptions = descriptions_of(dataset)
    asked = [(task, odds_without_history(task), questions_of(task, descriptions)) for task in tasks]
    told = [q.name for _, odds, questions in asked for pk, q in questions.items() if odds[pk] in (0.0, 1.0)]
    told += [_name(c) for t, odds, _ in asked for c in t.checkpoints.all() if c.answer and odds[c.pk] > 0]
    count = sum(len(odds) for _, odds, _ in asked)
    yield none_of("preferences that the ideal reader settles without history", told, count)
    found = _mean([_mean(list(odds.values())) for _, odds, _ in asked])
    # A typed answer has no options to pick from, so its chance is 0.
    chance = _mean([sum(q.chance for q in questions.values()) / max(1, len(odds)) for _, odds, questions in asked])
    limit = f"at most {NEAR_CHANCE} from chance, {chance:.4f}"
    name = "preference satisfaction of the ideal reader without history"
    yield Gate(name, round(found, 4), limit, count, abs(found - chance) <= NEAR_CHANCE)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _late(checkpoint: Checkpoint) -> bool:
    return any(event.occurred_at >= checkpoint.task.as_of for event in checkpoint.evidence.all())


def _events(checkpoints: Sequence[Checkpoint]) -> set[int]:
    return {event.pk for checkpoint in checkpoints for event in checkpoint.evidence.all()}


def _labels(dataset: Dataset) -> dict[tuple[str, str], str]:
    """(dimension, value) -> label, in the words of the dataset's own version."""
    return {
        (dimension.reference, option["slug"]): option["label"]
        for dimension in Dimension.objects.filter(data_version=dataset.data_version).select_related("domain")
        for option in dimension.options
    }


def _named_values(dataset: Dataset) -> Gate:
    labels = _labels(dataset)
    cues = EventLabel.objects.filter(event__persona__dataset=dataset, role__in=["cue", "condition", "against"])
    rows = list(cues.values_list("dimension", "value", "event__text"))
    named = [
        text for dimension, value, text in rows
        if content_stems(labels.get((dimension, value), "")) & content_stems(text)
    ]  # fmt: skip
    return none_of("cues that name their value", named, len(rows))


def _telling_requests(dataset: Dataset, preferences: Sequence[Checkpoint]) -> Gate:
    """Requests that hold the whole label, or the whole description, of a value which they should leave open."""
    labels, described = _labels(dataset), descriptions_of(dataset)

    def tells(checkpoint: Checkpoint) -> bool:
        dimension, value = checkpoint.dimension, checkpoint.value
        phrases = (labels.get((dimension, value), ""), described.get(dimension, {}).get(value, ""))
        return any(holds_phrase(checkpoint.task.request, phrase) for phrase in phrases)

    return _each("requests that name a value they should not", preferences, tells)


def _distracting(preferences: Sequence[Checkpoint]) -> Gate:
    gold = _events(preferences)
    labels = EventLabel.objects.filter(event_id__in=gold, role__in=["distractor", "everyday"])
    return none_of("distractors among the gold events", list(labels.values_list("event__text", flat=True)), len(gold))


def _unsolvable(tasks: Sequence[Task]) -> Gate:
    calls = [task for task in tasks if task.world]
    broken = [task.slug for task in calls if not _solvable(task)]
    return none_of("API tasks without an item that satisfies all", broken, len(calls))


def _solvable(task: Task) -> bool:
    wanted = {
        c.rule["item_field"]: str(c.rule["equals"]) for c in task.checkpoints.all() if c.rule and "item_field" in c.rule
    }
    return any(all(str(item.get(f)) == value for f, value in wanted.items()) for item in task.world["items"])


def _repeated(dataset: Dataset) -> Gate:
    rows = Counter(Event.objects.filter(persona__dataset=dataset).values_list("persona__slug", "text"))
    again = [f"{persona}: {text}" for (persona, text), count in rows.items() for _ in range(count - 1)]
    return none_of("texts that stand twice in one history", again, rows.total())


def _majority(preferences: Sequence[Checkpoint]) -> Gate:
    """Mean over dimensions of how often a guesser of the most frequent value would be right."""
    values: dict[str, Counter[str]] = defaultdict(Counter)
    for checkpoint in preferences:
        values[checkpoint.dimension][checkpoint.value] += 1
    shares = [max(counts.values()) / counts.total() for counts in values.values() if counts.total() >= 5]
    return at_most("share of the most frequent value over its dimension, mean", _mean(shares), 0.7, len(preferences))
