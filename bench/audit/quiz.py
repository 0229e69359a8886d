"""A blind quiz over a dataset: what a reader sees, and nothing of what its author knows.

No id tells anything: an item, a question and an option are named by a keyed digest of their row. What each question is
about is kept in the database, so answers can be matched later without a secret file beside the quiz. Modes and strata
are not written either.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import TypeVar

from django.conf import settings
from django.db.models import Prefetch

from bench.audit.shapes import Item, Option, Question, SeenEvent
from bench.generation.habits import offered
from bench.models import (
    AuditQuestion,
    Checkpoint,
    CheckpointKind,
    Dataset,
    Dimension,
    Event,
    EventLabel,
    EventRole,
    Task,
    Trajectory,
)

TASK_MODES = ("gold", "full", "none")
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class _Draw:
    """One making of a quiz. ``used``: tasks that stand in it, or in a quiz that it keeps apart from.

    ``asked``: rows of the questions so far.
    """

    dataset: Dataset
    run: int | None
    size: int
    dimensions: Mapping[str, Dimension]  # and regularities
    used: set[int]
    asked: list[AuditQuestion] = field(default_factory=list)

    def key(self, mode: str, pk: int) -> tuple[object, ...]:
        return (self.dataset.pk, mode, (self.run or "") if mode.startswith("retrieved:") else "", pk)


def opaque(*parts: object) -> str:
    """Sixteen hex digits that nobody without SECRET_KEY can trace back to a row."""
    text = "\x1f".join(map(str, ("audit", *parts)))
    return hmac.new(settings.SECRET_KEY.encode(), text.encode(), hashlib.sha256).hexdigest()[:16]


def make_quiz(
    dataset: Dataset, modes: Sequence[str], *, size: int, seed: int, run: int | None = None,
    apart_from: Collection[str] = (),
) -> list[Item]:  # fmt: skip
    """``size`` items a mode at most, in an order that tells nothing; remembers what each question is about.

    No task stands in it in two modes, nor a task that the questions ``apart_from`` ask about. Raises ValueError.
    """
    _check(modes, size, run)
    dimensions = {
        dimension.reference: dimension
        for dimension in Dimension.objects.filter(data_version=dataset.data_version).select_related("domain")
    }
    others = AuditQuestion.objects.filter(public_id__in=apart_from, checkpoint__isnull=False)
    draw = _Draw(dataset, run, size, dimensions, set(others.values_list("checkpoint__task_id", flat=True)))
    items: list[Item] = []
    for mode in modes:
        random = Random(f"{seed}:{mode.partition(':')[0]}")  # noqa: S311 - a sample that can be drawn again
        items += _cues(draw, random) if mode == "cue" else _tasks(draw, mode, random)
    AuditQuestion.objects.bulk_create(draw.asked, ignore_conflicts=True)
    return sorted(items, key=lambda item: item.id)


def _check(modes: Sequence[str], size: int, run: int | None) -> None:
    for mode in modes:
        if mode in ("cue", *TASK_MODES):
            continue
        if not mode.startswith("retrieved:") or mode == "retrieved:":
            raise ValueError(f"--mode {mode!r}: it is cue, gold, full, none or retrieved:METHOD")
        if run is None:
            raise ValueError(f"--mode {mode}: say with --run whose trajectories to show")
    if len(set(modes)) < len(modes):
        raise ValueError(f"--mode {','.join(modes)}: a mode stands there twice")
    if size < 1:
        raise ValueError(f"--size {size}: it is 1 or more")


def _cues(draw: _Draw, random: Random) -> list[Item]:
    labels = EventLabel.objects.filter(
        event__persona__dataset=draw.dataset,
        role__in=[EventRole.CUE, EventRole.CONDITION],
        dimension__in=[reference for reference, dimension in draw.dimensions.items() if dimension.options],
    ).select_related("event")
    chosen = stratified(
        labels.order_by("pk"),
        lambda label: (draw.dimensions[label.dimension].domain.slug, label.role),
        draw.size,
        random,
    )
    items = []
    for label in chosen:
        key = draw.key("cue", label.pk)
        row = AuditQuestion(dataset=draw.dataset, mode="cue", event=label.event)
        dimension = draw.dimensions[label.dimension]
        question = _question(draw, row, dimension, _described(dimension), key)
        items.append(Item(opaque(*key), "", "", _seen([label.event]), (question,)))
    return items


def _tasks(draw: _Draw, mode: str, random: Random) -> list[Item]:
    tasks = Task.objects.of_dataset(draw.dataset.pk).exclude(pk__in=draw.used)
    found = {} if mode in TASK_MODES else _retrieved(mode, draw.run)
    if mode not in TASK_MODES:
        tasks = tasks.filter(pk__in=found)
    asked = Checkpoint.objects.filter(retired=False, kind=CheckpointKind.PREFERENCE, dimension__in=draw.dimensions)
    rows = tasks.filter(checkpoints__in=asked).distinct().order_by("pk").select_related("scenario__domain")
    rows = rows.prefetch_related(Prefetch("checkpoints", asked.prefetch_related("evidence")))
    chosen = stratified(rows, _stratum, draw.size, random)
    if not chosen:
        raise ValueError(f"--mode {mode}: no task of {draw.dataset} is left for it")
    draw.used.update(task.pk for task in chosen)
    return [_task_item(draw, task, mode, found.get(task.pk, ())) for task in chosen]


def _stratum(task: Task) -> tuple[str, ...]:
    """Domain, and the tiers and kinds of conflict of the task's preferences."""
    asked = list(task.checkpoints.all())
    tiers, conflicts = sorted({c.tier for c in asked}), sorted({c.conflict for c in asked} - {""})
    return (task.scenario.domain.slug, ",".join(tiers), ",".join(conflicts))


def _task_item(draw: _Draw, task: Task, mode: str, found: Iterable[int]) -> Item:
    asked = list(task.checkpoints.all())
    visible = Event.objects.visible(task.persona_id, task.as_of)
    shown: Iterable[Event] = ()
    if mode == "full":
        shown = visible
    elif mode == "gold":
        shown = visible.filter(pk__in=[event.pk for c in asked for event in c.evidence.all()])
    elif mode != "none":
        shown = visible.filter(pk__in=list(found))
    key = draw.key(mode, task.pk)
    questions = []
    for checkpoint in asked:
        run = draw.run if mode not in TASK_MODES else None
        row = AuditQuestion(dataset=draw.dataset, mode=mode, run_id=run, checkpoint=checkpoint)
        dimension = draw.dimensions[checkpoint.dimension]
        offered = _plausible(checkpoint) if checkpoint.answer else _described(dimension)
        questions.append(_question(draw, row, dimension, offered, (*key, checkpoint.pk)))
    ordered = tuple(sorted(questions, key=lambda question: question.id))
    return Item(opaque(*key), task.request, _moment(task.as_of), _seen(shown), ordered)


def _retrieved(mode: str, run: int | None) -> dict[int, list[int]]:
    """By task, the events that the method had found in the run; the first repeat where there are several."""
    method = mode.removeprefix("retrieved:")
    rows = Trajectory.objects.filter(unit__run_id=run or 0, unit__method=method, infrastructure=False).order_by("-pk")
    found: dict[int, list[int]] = {}
    for task_id, evidence in rows.values_list("unit__task_id", "data__evidence"):
        found[task_id] = [int(i) for e in evidence or () for i in (e["event_id"], *e.get("support", ()))]
    if not found:
        raise ValueError(f"--mode {mode}: run {run} has no trajectory of the method {method!r}")
    return found


def _described(dimension: Dimension) -> dict[str, str]:
    """Value -> its public words."""
    return {option["slug"]: option["description"] for option in dimension.options}


def _plausible(checkpoint: Checkpoint) -> dict[str, str]:
    """The value that is asked for and two that lie well beyond its tolerance, as they are written.

    Which of the three lies in the middle hangs on the checkpoint, so the order of the values tells nothing.
    """
    place = int(opaque("place", checkpoint.pk), 16)
    return {value: value for value in offered(checkpoint.answer, checkpoint.value, checkpoint.tolerance, place)}


def _question(
    draw: _Draw, row: AuditQuestion, dimension: Dimension, offered: Mapping[str, str], key: tuple[object, ...]
) -> Question:
    """The question in public words; ``row`` gets its id and options and joins what was asked."""
    row.public_id = opaque(*key, dimension.reference)
    named = sorted((opaque(row.public_id, value), value) for value in offered)
    row.options = named
    draw.asked.append(row)
    shown = tuple(Option(name, offered[value]) for name, value in named)
    return Question(row.public_id, dimension.question, shown)


def _moment(when: datetime) -> str:
    return f"{when:%a %d %b %Y %H:%M}"


def _seen(events: Iterable[Event]) -> tuple[SeenEvent, ...]:
    ordered = sorted(events, key=lambda event: (event.occurred_at, event.position))
    return tuple(SeenEvent(_moment(event.occurred_at), event.channel, event.text) for event in ordered)


def stratified(rows: Iterable[Row], stratum: Callable[[Row], tuple[str, ...]], size: int, random: Random) -> list[Row]:
    """``size`` rows at most, in turns from each stratum until it is empty, so that rare ones are not lost."""
    strata: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        strata[stratum(row)].append(row)
    for members in strata.values():
        random.shuffle(members)
    waiting = [strata[name] for name in sorted(strata)]
    random.shuffle(waiting)
    chosen: list[Row] = []
    while waiting and len(chosen) < size:
        chosen += [members.pop() for members in waiting][: size - len(chosen)]
        waiting = [members for members in waiting if members]
    return chosen
