"""What the events that an agent was shown settle: the ideal reader decides with these alone."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from agents.contract import Evidence
from agents.toolkit.rendering import evidence_lines, now_line, one_line, section
from bench.generation.habits import agrees
from bench.generation.spec import Tier
from bench.models import Checkpoint, CheckpointKind, Task
from bench.reader import typed
from bench.reader.faults import Dials
from bench.reader.labels import meanings
from bench.reader.prompt import read
from bench.reader.view import View


def is_value(checkpoint: Checkpoint, value: str) -> bool:
    """Whether a value is the checkpoint's, of a typed answer within its tolerance."""
    if checkpoint.answer:
        return agrees(checkpoint.answer, value, checkpoint.value, Decimal(str(checkpoint.tolerance)))
    return value == checkpoint.value


def settled_share(task: Task, evidence: Sequence[Evidence]) -> float | None:
    """The share of the task's preference checkpoints whose value follows from ``evidence`` and the request, 0..1.

    Nothing is guessed: what the events leave open, or settle otherwise, is not settled; a contested preference is
    settled where they also show that it goes first. None where the task has no preference checkpoint. What a method
    made of the events plays no part.
    """
    checkpoints = list(Checkpoint.objects.filter(retired=False, task=task, kind=CheckpointKind.PREFERENCE))
    if not checkpoints:
        return None
    sections = {
        "Scenario": f"{task.scenario.name} (domain: {task.scenario.domain.slug})",
        "Request": one_line(task.request),
        "Now": now_line(task.as_of),
        "Evidence": evidence_lines(evidence),
    }
    prompt = read([{"role": "user", "content": "\n".join(section(*one) for one in sections.items())}])
    ideal = View(prompt, Dials(), meanings)
    first = {one for one, _ in ideal.orders}
    settled = (
        is_value(c, typed.settled(ideal, c.dimension))
        if c.answer
        else ideal.settled(c.dimension) == c.value and (c.tier != Tier.CONTESTED or c.dimension in first)
        for c in checkpoints
    )
    return sum(settled) / len(checkpoints)
