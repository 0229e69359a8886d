"""Cases that raters and judges do not agree on, and the decision that settles one."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from django.db import transaction
from django.db.models import Max

from annotation.transcript import Passage, Transcript, part_named, transcript
from annotation.verdicts import latest
from bench.grading.store import append_verdicts, rubric_version, score_trajectories
from bench.grading.types import VerdictSource, VerdictValue
from bench.models import CheckpointScore, Event, Trajectory, Verdict

REASON_CHARS = 500


class AlreadySettled(Exception):
    """Somebody else has decided the case, or its inputs have come to agree."""

    def __init__(self) -> None:
        super().__init__("This checkpoint has been settled in the meantime; your decision was not needed.")


@dataclass(frozen=True, slots=True)
class Column:
    """What one source says. ``label`` is A, B, C for raters, J1, J2, J3 for judges, Rule for the rule.

    ``anchor``: the part of the trajectory that a rater's comment points at.
    """

    label: str
    verdict: Verdict
    anchor: Passage | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One checkpoint of one trajectory with all that is said about it.

    ``earlier``: a decision that was re-opened. ``newest``: the id of the last verdict on the checkpoint, 0 for none.
    """

    score: CheckpointScore
    transcript: Transcript
    evidence: tuple[Event, ...]
    raters: tuple[Column, ...]
    machines: tuple[Column, ...]
    earlier: Verdict | None
    graded_by_me: bool
    newest: int


def find_case(*, trajectory_id: int, checkpoint_id: int, adjudicator_id: int) -> Case:
    """The case as it stands. Raises CheckpointScore.DoesNotExist, and AlreadySettled where none is open."""
    score = CheckpointScore.objects.select_related(
        "checkpoint", "trajectory__unit__run", "trajectory__unit__task__scenario__domain"
    ).get(trajectory_id=trajectory_id, checkpoint_id=checkpoint_id)
    if not score.needs_adjudication:
        raise AlreadySettled
    newest = _newest(trajectory_id, checkpoint_id)  # before the verdicts are read: one that comes between is noticed
    found = latest(trajectory_id=trajectory_id, rubric_version=rubric_version(), checkpoint_id=checkpoint_id)
    verdicts = found.get(checkpoint_id, [])
    humans = [row for row in verdicts if row.source == VerdictSource.HUMAN]
    judges = [row for row in verdicts if row.source == VerdictSource.JUDGE]
    earlier = [row for row in verdicts if row.source == VerdictSource.ADJUDICATION]
    machines = [Column(f"J{number}", row) for number, row in enumerate(judges, start=1)]
    machines += [Column("Rule", row) for row in verdicts if row.source == VerdictSource.RULE]
    read, evidence = transcript(score.trajectory), tuple(score.checkpoint.evidence.order_by("occurred_at"))
    shuffled = sorted(humans, key=_anonymous)
    return Case(
        score=score,
        transcript=read,
        evidence=evidence,
        raters=tuple(
            Column(ascii_uppercase[i % 26], row, part_named(row.anchor, read, evidence))
            for i, row in enumerate(shuffled)
        ),
        machines=tuple(machines),
        earlier=max(earlier, key=lambda row: row.pk, default=None),
        graded_by_me=any(row.rater_id == adjudicator_id for row in humans),
        newest=newest,
    )


def _newest(trajectory_id: int, checkpoint_id: int) -> int:
    rows = Verdict.objects.filter(trajectory_id=trajectory_id, checkpoint_id=checkpoint_id)
    return rows.aggregate(newest=Max("pk"))["newest"] or 0


def _anonymous(row: Verdict) -> bytes:
    """An order that stays the same for a trajectory and tells nothing of who or when."""
    return hashlib.sha256(f"rater:{row.trajectory_id}:{row.rater_id}".encode()).digest()


@transaction.atomic
def settle(
    *, trajectory_id: int, checkpoint_id: int, adjudicator: Any, value: str, reason: str, seen: int | None = None
) -> None:
    """Appends the decision and scores the trajectory anew. ``seen``: ``Case.newest`` of what the adjudicator looks at.

    Raises ValueError for a bad value, a missing or overlong reason and a verdict that came in since; AlreadySettled.
    """
    problem = decision_problem(value=value, reason=reason)
    if problem:
        raise ValueError(problem)
    Trajectory.objects.select_for_update(no_key=True).get(pk=trajectory_id)
    score = CheckpointScore.objects.filter(trajectory_id=trajectory_id, checkpoint_id=checkpoint_id)
    if not score.filter(needs_adjudication=True).exists():
        raise AlreadySettled
    if seen is not None and seen != _newest(trajectory_id, checkpoint_id):
        raise ValueError("A verdict has come in since you opened this case. It is shown now; decide again.")
    decision = Verdict(
        trajectory_id=trajectory_id,
        checkpoint_id=checkpoint_id,
        rubric_version=rubric_version(),
        source=VerdictSource.ADJUDICATION,
        name=adjudicator.get_username(),
        rater=adjudicator,
        value=value,
        rationale=reason.strip(),
    )
    append_verdicts([decision])
    score_trajectories([trajectory_id])


def decision_problem(*, value: str, reason: str) -> str:
    """What keeps a decision from being recorded, in a sentence; "" where nothing does."""
    if value not in {grade.value for grade in VerdictValue}:
        return "Choose pass, fail or cannot judge."
    if not reason.strip():
        return "Write a short reason: raters and readers will see why."
    if len(reason) > REASON_CHARS:
        return f"The reason has {len(reason)} characters; {REASON_CHARS} are the most."
    return ""


def next_case(*, after: tuple[int, int] | None = None, run_id: int | None = None) -> CheckpointScore | None:
    """The next open case behind (trajectory id, position), else the first; None where all is settled."""
    cases = CheckpointScore.objects.to_adjudicate().select_related("checkpoint")
    if run_id is not None:
        cases = cases.filter(trajectory__unit__run_id=run_id)
    if after is not None:
        trajectory_id, position = after
        rest = cases.filter(trajectory_id=trajectory_id, checkpoint__position__gt=position)
        behind = rest.first() or cases.filter(trajectory_id__gt=trajectory_id).first()
        if behind is not None:
            return behind
    return cases.first()
