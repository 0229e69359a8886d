"""A blind quiz over a dataset: what a reader sees, and nothing of what its author knows.

No id tells anything: an item, a question and an option are named by a keyed digest of their row, so that answers can be
matched later by whoever holds the key, without a secret file beside the quiz. Modes and strata are not written either.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from django.conf import settings

from bench.models import CheckpointKind, Dataset, Dimension, Event, EventLabel, EventRole, Task, Trajectory

REMARKS = (
    ("two", "Two are defensible"),
    ("unsettled", "Not settled"),
    ("irrelevant", "Does not matter for this request"),
    ("telling", "Gives itself away"),
    ("contradiction", "Contradicts this life"),
)
TASK_MODES = ("gold", "full", "none")
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class SeenEvent:
    when: str
    channel: str
    text: str


@dataclass(frozen=True, slots=True)
class Option:
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """``request`` and ``moment`` are empty where a single event is read by itself."""

    id: str
    request: str
    moment: str
    events: tuple[SeenEvent, ...]
    questions: tuple[Question, ...]


def opaque(*parts: object) -> str:
    """Sixteen hex digits that nobody without SECRET_KEY can trace back to a row."""
    text = "\x1f".join(map(str, ("audit", *parts)))
    return hmac.new(settings.SECRET_KEY.encode(), text.encode(), hashlib.sha256).hexdigest()[:16]


def make_quiz(dataset: Dataset, modes: Sequence[str], *, size: int, seed: int, run: int | None = None) -> list[Item]:
    """``size`` items a mode at most, in an order that tells nothing. No task stands in it in two modes."""
    _check(modes, size, run)
    dimensions = {
        dimension.reference: dimension
        for dimension in Dimension.objects.filter(data_version=dataset.data_version).select_related("domain")
    }
    items: list[Item] = []
    used: set[int] = set()
    for mode in modes:
        random = Random(f"{seed}:{mode}")  # noqa: S311 - a sample that can be drawn again
        if mode == "cue":
            items += _cues(dataset, dimensions, size, random)
        else:
            items += _tasks(dataset, dimensions, mode, size, random, used, run)
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


def _cues(dataset: Dataset, dimensions: dict[str, Dimension], size: int, random: Random) -> list[Item]:
    labels = EventLabel.objects.filter(
        event__persona__dataset=dataset, role__in=[EventRole.CUE, EventRole.CONDITION], dimension__in=dimensions
    ).select_related("event")
    chosen = stratified(
        labels.order_by("pk"), lambda label: (dimensions[label.dimension].domain.slug, label.role), size, random
    )
    return [
        Item(
            opaque(dataset.pk, "cue", label.pk), "", "", _seen([label.event]),
            (_question(dimensions[label.dimension], dataset.pk, "cue", label.pk),),
        )
        for label in chosen
    ]  # fmt: skip


def _tasks(
    dataset: Dataset, dimensions: dict[str, Dimension], mode: str, size: int, random: Random,
    used: set[int], run: int | None,
) -> list[Item]:  # fmt: skip
    tasks = Task.objects.of_dataset(dataset.pk).exclude(pk__in=used)
    if mode not in TASK_MODES:
        tasks = tasks.filter(pk__in=_retrieved(mode, run))
    rows = tasks.filter(checkpoints__kind=CheckpointKind.PREFERENCE).distinct().order_by("pk")
    rows = rows.select_related("scenario__domain").prefetch_related("checkpoints__evidence")
    chosen = stratified(rows, _stratum, size, random)
    if not chosen:
        raise ValueError(f"--mode {mode}: no task of {dataset} is left for it")
    used.update(task.pk for task in chosen)
    found = _retrieved(mode, run) if mode not in TASK_MODES else {}
    return [_task_item(dataset, dimensions, task, mode, run, found.get(task.pk, ())) for task in chosen]


def _stratum(task: Task) -> tuple[str, ...]:
    """Domain, and the rarest tier and conflict kinds of the task's preferences as its checkpoints name them."""
    asked = [c for c in task.checkpoints.all() if c.kind == CheckpointKind.PREFERENCE]
    tiers = sorted({getattr(c, "tier", "") or "direct" for c in asked})
    return (task.scenario.domain.slug, ",".join(tiers), ",".join(sorted({c.conflict for c in asked} - {""})))


def _task_item(
    dataset: Dataset, dimensions: dict[str, Dimension], task: Task, mode: str, run: int | None, found: Iterable[int]
) -> Item:
    asked = [c for c in task.checkpoints.all() if c.kind == CheckpointKind.PREFERENCE and c.dimension in dimensions]
    visible = Event.objects.visible(task.persona_id, task.as_of)
    shown: Iterable[Event] = ()
    if mode == "full":
        shown = visible
    elif mode == "gold":
        shown = visible.filter(pk__in=[event.pk for c in asked for event in c.evidence.all()])
    elif mode != "none":
        shown = visible.filter(pk__in=list(found))
    key = (dataset.pk, mode, run or "", task.pk)
    questions = [_question(dimensions[c.dimension], *key, c.pk) for c in asked]
    return Item(
        opaque(*key), task.request, f"{task.as_of:%a %d %b %Y %H:%M}", _seen(shown),
        tuple(sorted(questions, key=lambda question: question.id)),
    )  # fmt: skip


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


def _question(dimension: Dimension, *key: object) -> Question:
    name = opaque(*key, dimension.reference)
    options = [
        Option(opaque(name, option["slug"]), f"{option['label']}: {option['description']}")
        for option in dimension.options
    ]
    return Question(name, dimension.question, tuple(sorted(options, key=lambda option: option.id)))


def _seen(events: Iterable[Event]) -> tuple[SeenEvent, ...]:
    ordered = sorted(events, key=lambda event: event.occurred_at)
    return tuple(SeenEvent(f"{e.occurred_at:%a %d %b %Y %H:%M}", e.channel, e.text) for e in ordered)


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
