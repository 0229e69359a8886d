"""Whether the gold events of a checkpoint are what settles it: all of it, and not without them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from bench.catalogue.regularities import WEEKDAYS
from bench.generation.habits import settle
from bench.generation.resolve import Shown, choose, life_shown
from bench.generation.validity.gate import Gate, none_of
from bench.grading.settled import is_value
from bench.models import Checkpoint, Dataset, Event
from bench.reader.knowledge import Asked, catalogue, understand
from bench.reader.labels import meanings


@dataclass(frozen=True)
class Seen:
    """An event as the ideal reader understands it."""

    event: int
    at: datetime
    shown: Shown

    def bears_on(self, dimension: str) -> bool:
        return self.shown.dimension == dimension or self.shown.role.startswith("state_")


def evidence_gates(dataset: Dataset, preferences: Sequence[Checkpoint]) -> list[Gate]:
    lives = read_lives(dataset)
    asked: dict[int, Asked | None] = {}
    short, spare = [], []
    for checkpoint in preferences:
        task = checkpoint.task
        if task.pk not in asked:
            asked[task.pk] = understand(task.request, task.scenario.name, task.as_of.date())
        before = [s for s in lives[task.persona_id] if s.at < task.as_of and s.bears_on(checkpoint.dimension)]
        gold = {event.pk for event in checkpoint.evidence.all()}
        name = f"{task.slug}: {checkpoint.text}"
        alone, without = [s.shown for s in before if s.event in gold], [s.shown for s in before if s.event not in gold]
        if not is_value(checkpoint, _settled(checkpoint, asked[task.pk], alone)):
            short.append(name)
        if is_value(checkpoint, _settled(checkpoint, asked[task.pk], without)):
            spare.append(name)
    return [
        none_of("preferences that their gold events alone do not settle", short, len(preferences)),
        none_of("preferences that the history settles without their gold events", spare, len(preferences)),
    ]


def read_lives(dataset: Dataset) -> dict[int, list[Seen]]:
    """Persona -> events that show something."""
    rows = Event.objects.filter(persona__dataset=dataset, label__isnull=False).exclude(
        label__role__in=["everyday", "distractor"]
    )
    events = list(rows.values_list("persona_id", "pk", "occurred_at", "text"))
    known = meanings({text for *_, text in events})
    lives: dict[int, list[Seen]] = defaultdict(list)
    for persona, pk, at, text in events:
        one, on = known[text], at.date()
        value = f"{on:%A}" if one.role == "regular" and one.value in WEEKDAYS else one.value
        shown = Shown(on, one.role, one.dimension, value, one.group, one.ends.get(on))
        lives[persona].append(Seen(pk, at, shown))
    return lives


def _settled(checkpoint: Checkpoint, asked: Asked | None, shown: Iterable[Shown]) -> str:
    """The value that these events leave for what is asked, "" for none."""
    if checkpoint.answer:
        regularity = catalogue().regularities[checkpoint.dimension]
        return settle(regularity, [one.value for one in shown if one.role == "regular"])
    today = checkpoint.task.as_of.date()
    trait, states = life_shown(shown, checkpoint.dimension, catalogue())
    day, context = (asked.day, asked.context) if asked else (today, "")
    choice = choose(trait, states, checkpoint.dimension, today=today, day=day, context=context)
    return choice.value if choice else ""
