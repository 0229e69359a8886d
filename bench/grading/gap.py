"""Where the knowledge-to-action gap opens: the stage that lost a failed preference checkpoint.

Reads the stored trajectory only. Stages in order: the cue was retrieved, a
constraint was drawn from it, it was resolved rightly, planned, acted on.
Agents name things in their own words, so a constraint is about what the events
that it cites are about; whether its words are true is not asked here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from agents.contract import Constraint, ConstraintStatus, Stage, Trajectory
from bench.grading.types import VerdictValue


class GapStage(StrEnum):
    """The stage that lost it. The first five are in the order of the course."""

    NOT_RETRIEVED = "not_retrieved"
    NO_CONSTRAINT = "no_constraint"
    RESOLVED_WRONGLY = "resolved_wrongly"  # stale, wrong scope, wrong winner, or left open
    NOT_IN_PLAN = "not_in_plan"
    NOT_IN_ACTION = "not_in_action"
    NOT_ACTED = "not_acted"  # the cue was retrieved; the agent keeps no constraints, so no more is known
    JUDGED_WRONG = "judged_wrong"  # it was done; a human overruled the judges
    OVER_APPLIED = "over_applied"  # what won holds elsewhere, or is nobody's wish, and was applied here
    UNKNOWN = "unknown"  # an infrastructure failure, or gold that names no cue


@dataclass(frozen=True, slots=True)
class CheckpointGold:
    """What is true of one preference checkpoint, as ids of events.

    ``gold_event_ids`` show the value that holds now. ``losing_event_ids`` show
    one that held before or holds elsewhere: in a state that is over or under a
    condition that is not met where ``losing_holds_elsewhere``.
    ``distractor_event_ids`` look like cues for it and show no preference of the
    persona. ``part`` is the argument or item field that shows it ("" for text).
    """

    gold_event_ids: frozenset[str]
    losing_event_ids: frozenset[str] = frozenset()
    losing_holds_elsewhere: bool = False
    distractor_event_ids: frozenset[str] = frozenset()
    part: str = ""

    @property
    def misleading(self) -> frozenset[str]:
        return self.losing_event_ids | self.distractor_event_ids


@dataclass(frozen=True, slots=True)
class OverApplication:
    """An active constraint that should not hold for this task."""

    constraint_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class FunnelRow:
    """``reached`` checkpoints came to this stage and ``lost`` of them ended there."""

    stage: str
    reached: int
    lost: int


def attribute(
    trajectory: Trajectory, gold: CheckpointGold, verdict: VerdictValue, human_overruled: bool = False
) -> GapStage | None:
    """The stage that lost the checkpoint, or None where nothing was lost.

    ``verdict`` is what the rule or the judges said. ``human_overruled``: they
    said fail and people said pass. A verdict of CANNOT_JUDGE is no failure.
    """
    if verdict is not VerdictValue.FAIL:
        return None
    if human_overruled:
        return GapStage.JUDGED_WRONG
    if trajectory.termination.is_infrastructure or not gold.gold_event_ids:
        return GapStage.UNKNOWN
    drawn = [c for c in trajectory.constraints if gold.gold_event_ids & set(c.evidence)]
    right = [c for c in drawn if _holds(c, trajectory)]
    if right:
        return _after_resolution(trajectory, right, gold)
    if not _saw_cue(trajectory, gold):
        return GapStage.NOT_RETRIEVED
    wrong = [c for c in trajectory.constraints if _is_from(c, gold.misleading)]
    if drawn or wrong:
        return _wrong_winner([c for c in wrong if _is_applied(c, trajectory)], gold)
    return GapStage.NO_CONSTRAINT if _draws_constraints(trajectory) else GapStage.NOT_ACTED


def over_applications(
    trajectory: Trajectory, distractors: frozenset[str], losing: frozenset[str] = frozenset()
) -> tuple[OverApplication, ...]:
    """Applied constraints that should not hold, in the trajectory's order: those that cite nothing but such events.

    ``distractors``: ids of events that show no preference of the persona. ``losing``: of events that show what does
    not hold for this task. With a plan, only planned constraints count as applied.
    """
    found = []
    for c in trajectory.constraints:
        if not _is_applied(c, trajectory) or not _is_from(c, distractors | losing):
            continue
        only = _is_from(c, distractors)
        reason = "drawn from events that show no preference" if only else "drawn from what does not hold here"
        found.append(OverApplication(c.constraint_id, reason))
    return tuple(found)


_COURSE = (
    ("retrieved", (GapStage.NOT_RETRIEVED,)),
    ("constraint drawn", (GapStage.NO_CONSTRAINT,)),
    ("resolved", (GapStage.RESOLVED_WRONGLY, GapStage.OVER_APPLIED)),
    ("planned", (GapStage.NOT_IN_PLAN,)),
    ("acted on", (GapStage.NOT_IN_ACTION, GapStage.NOT_ACTED)),
)


def funnel(stages: Iterable[GapStage | None]) -> tuple[FunnelRow, ...]:
    """The knowledge-to-action funnel over checkpoints; None is a checkpoint that nothing lost.

    JUDGED_WRONG counts as acted on. UNKNOWN is left out and must be shown
    beside. The last row, "satisfied", is what remained. NOT_ACTED is counted
    at the last stage, so funnels of agents with and without constraints
    compare at their ends only.
    """
    counts = Counter(stages)
    remaining = counts.total() - counts[GapStage.UNKNOWN]
    rows = []
    for name, lost_at in _COURSE:
        lost = sum(counts[stage] for stage in lost_at)
        rows.append(FunnelRow(name, remaining, lost))
        remaining -= lost
    return (*rows, FunnelRow("satisfied", remaining, 0))


def _saw_cue(trajectory: Trajectory, gold: CheckpointGold) -> bool:
    """Whether a gold event reached the model, itself or as a folded duplicate. True without gold events."""
    seen = {event_id for e in trajectory.evidence for event_id in (e.event_id, *e.support)}
    return not gold.gold_event_ids or bool(seen & gold.gold_event_ids)


def _holds(constraint: Constraint, trajectory: Trajectory) -> bool:
    """Active; or a draft of an agent that never resolves, whose drafts go straight to the action."""
    if constraint.status is ConstraintStatus.ACTIVE:
        return True
    return not _has(trajectory, Stage.ALIGN) and all(c.status is ConstraintStatus.DRAFT for c in trajectory.constraints)


def _after_resolution(trajectory: Trajectory, right: Sequence[Constraint], gold: CheckpointGold) -> GapStage:
    if trajectory.action is not None and gold.part and gold.part in trajectory.action.would_ask:
        return GapStage.RESOLVED_WRONGLY  # it asked, though the history had settled it
    planned = set(trajectory.plan)
    if not planned and not _has(trajectory, Stage.PLAN):
        return GapStage.NOT_IN_ACTION
    if any(c.constraint_id in planned for c in right):
        return GapStage.NOT_IN_ACTION
    applied = [c for c in trajectory.constraints if c.constraint_id in planned and _is_applied(c, trajectory)]
    winners = [c for c in applied if _is_from(c, gold.misleading)]
    return _wrong_winner(winners, gold) if winners else GapStage.NOT_IN_PLAN


def _is_applied(constraint: Constraint, trajectory: Trajectory) -> bool:
    """Holding and planned; or only holding, in an agent that plans nothing, where what holds is applied."""
    planned = not trajectory.plan or constraint.constraint_id in trajectory.plan
    return planned and _holds(constraint, trajectory)


def _wrong_winner(winners: Sequence[Constraint], gold: CheckpointGold) -> GapStage:
    """Over-applied where every winner that was applied belongs elsewhere; without one nothing was applied."""
    elsewhere = gold.misleading if gold.losing_holds_elsewhere else gold.distractor_event_ids
    over = [_is_from(c, elsewhere) for c in winners]
    return GapStage.OVER_APPLIED if over and all(over) else GapStage.RESOLVED_WRONGLY


def _is_from(constraint: Constraint, event_ids: frozenset[str]) -> bool:
    """Whether it cites these events and no others."""
    return bool(constraint.evidence) and event_ids.issuperset(constraint.evidence)


def _draws_constraints(trajectory: Trajectory) -> bool:
    return bool(trajectory.constraints) or _has(trajectory, Stage.THINK) or _has(trajectory, Stage.ALIGN)


def _has(trajectory: Trajectory, stage: Stage) -> bool:
    return any(step.stage is stage for step in trajectory.steps)
