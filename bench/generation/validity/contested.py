"""Whether records decide between two preferences that no item meets at once, and nothing else does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.toolkit.rendering import item_lines, now_line, one_line, section
from bench.generation.spec import Tier
from bench.models import Checkpoint, Event, Task
from bench.reader.acting import likely_items, same
from bench.reader.faults import Dials
from bench.reader.labels import meanings
from bench.reader.prompt import read
from bench.reader.view import View

EVEN = 0.5  # of two preferences, each as likely to go first


@dataclass(frozen=True)
class Contested:
    """How often the ideal reader meets a contested preference: with its gold events, and without the records of it."""

    name: str
    with_gold: float
    without_records: float

    @property
    def sound(self) -> bool:
        return self.with_gold == 1.0 and self.without_records <= EVEN


def contested_of(preferences: Sequence[Checkpoint]) -> list[Contested]:
    """``preferences`` come with their task, its scenario and domain, and their gold events."""
    return [_tried(checkpoint) for checkpoint in preferences if checkpoint.tier == Tier.CONTESTED]


def _tried(checkpoint: Checkpoint) -> Contested:
    gold = list(checkpoint.evidence.all())
    known = meanings({event.text for event in gold})
    bare = [event for event in gold if known[event.text].role != "record"]
    name = f"{checkpoint.task.slug}: {checkpoint.text}"
    return Contested(name, _met(checkpoint, gold), _met(checkpoint, bare))


def _met(checkpoint: Checkpoint, events: Sequence[Event]) -> float:
    """The share of the items, among those that the reader thinks best, that meet the checkpoint."""
    view = _view(checkpoint.task, events)
    rule = checkpoint.rule or {}
    best = [view.prompt.items[key] for key in likely_items(view)]
    return sum(same(item.get(rule.get("item_field", "")), rule.get("equals")) for item in best) / max(1, len(best))


def _view(task: Task, events: Sequence[Event]) -> View:
    sections = {
        "Scenario": f"{task.scenario.name} (domain: {task.scenario.domain.slug})",
        "Request": one_line(task.request),
        "Now": now_line(task.as_of),
        "Evidence": "\n".join(
            f"[e{n}] {e.occurred_at:%Y-%m-%d} {e.channel}: {e.text}" for n, e in enumerate(events, 1)
        ),
        "Items": item_lines(task.world.get("items", [])),
    }
    prompt = read([{"role": "user", "content": "\n".join(section(*one) for one in sections.items())}])
    return View(prompt, Dials(), meanings)
