"""What a rater may see of others once the own grades are committed."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.models import Assignment
from annotation.transcript import Passage, Transcript, part_named, transcript
from annotation.verdicts import latest
from bench.grading.types import VerdictSource
from bench.models import Checkpoint, Verdict


class NotYet(Exception):
    """The rater has not submitted; nothing is shown."""

    def __init__(self) -> None:
        super().__init__("Submit your grades first; what others said is shown after that.")


@dataclass(frozen=True, slots=True)
class Compared:
    """One checkpoint. ``machines``: rule and judges. ``others``: how many other raters graded it.

    ``anchor``: the part of the trajectory that the rater's own comment points at.
    """

    number: int
    checkpoint: Checkpoint
    mine: Verdict
    anchor: Passage | None
    machines: tuple[Verdict, ...]
    others: int


def compared(assignment: Assignment) -> list[Compared]:
    """The rater's own verdicts beside those of rule and judges, in order. Raises NotYet."""
    if assignment.committed_at is None:
        raise NotYet
    found = latest(trajectory_id=assignment.trajectory_id, rubric_version=assignment.batch.rubric_version)
    checkpoints = Checkpoint.objects.filter(pk__in=found).prefetch_related("evidence").order_by("position")
    read = transcript(assignment.trajectory)
    return [
        line
        for number, checkpoint in enumerate(checkpoints, start=1)
        if (line := _compared(number, checkpoint, found[checkpoint.pk], assignment.rater_id, read))
    ]


def _compared(
    number: int, checkpoint: Checkpoint, verdicts: list[Verdict], rater_id: int, read: Transcript
) -> Compared | None:
    humans = [row for row in verdicts if row.source == VerdictSource.HUMAN]
    mine = next((row for row in humans if row.rater_id == rater_id), None)
    if mine is None:
        return None
    machines = tuple(row for row in verdicts if row.source in (VerdictSource.RULE, VerdictSource.JUDGE))
    anchor = part_named(mine.anchor, read, checkpoint.evidence.all())
    return Compared(number, checkpoint, mine, anchor, machines, len(humans) - 1)
