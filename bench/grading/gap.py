"""Where the knowledge-to-action gap opens: the stage that lost a failed preference checkpoint.

Reads the stored trajectory only. Stages in order: the cue was retrieved, a
constraint was drawn from it, it was resolved rightly, planned, acted on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from agents.contract import Constraint, ConstraintStatus, Polarity, Trajectory
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
    """What is true of one preference checkpoint.

    ``dimension`` is "<domain>.<dimension>" and ``value`` the option that holds
    now. ``superseded_values`` held before or hold elsewhere; of these,
    ``elsewhere_values`` hold only in a state that is over or under a condition
    that is not met. ``distractor_event_ids`` look like cues and show no
    preference of the persona. ``part`` is the argument or item field that
    shows it ("" for text).
    """

    dimension: str
    value: str
    gold_event_ids: frozenset[str]
    superseded_values: frozenset[str] = frozenset()
    elsewhere_values: frozenset[str] = frozenset()
    distractor_event_ids: frozenset[str] = frozenset()
    part: str = ""


@dataclass(frozen=True, slots=True)
class OverApplication:
    """An active constraint that should not hold for this task."""

    constraint_id: str
    dimension: str
    value: str
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
    if trajectory.termination.is_infrastructure or not (gold.dimension or gold.gold_event_ids):
        return GapStage.UNKNOWN
    drawn = [c for c in trajectory.constraints if _is_about(c, gold)]
    active = [c for c in drawn if _holds(c, trajectory)]
    right = [c for c in active if _is_right(c, gold)]
    if right:
        return _after_resolution(trajectory, right, active, gold)
    if not _saw_cue(trajectory, gold):
        return GapStage.NOT_RETRIEVED
    if drawn:
        return _wrong_winner([c for c in active if _is_planned(c, trajectory)], gold)
    return GapStage.NO_CONSTRAINT if _draws_constraints(trajectory) else GapStage.NOT_ACTED


def over_applications(
    trajectory: Trajectory, holds: Mapping[str, str], distractors: Collection[str] = ()
) -> tuple[OverApplication, ...]:
    """Active constraints that should not hold, in the trajectory's order.

    ``holds``: dimension -> the value that holds now in the task's scope.
    ``distractors``: ids of events that show no preference of the persona. A
    constraint is judged where its dimension is in ``holds``, or where all that
    it cites are distractors. With a plan, only planned constraints count as
    applied.
    """
    misleading = frozenset(distractors)
    found = []
    for c in trajectory.constraints:
        left_out = bool(trajectory.plan) and c.constraint_id not in trajectory.plan
        if left_out or not _holds(c, trajectory):
            continue
        reason = ""
        if _is_from(c, misleading):
            reason = "drawn from events that show no preference"
        elif c.dimension in holds and c.value:
            names_it = c.value == holds[c.dimension]
            reason = "" if names_it == (c.polarity is Polarity.FOR) else f"{holds[c.dimension]} holds"
        if reason:
            found.append(OverApplication(c.constraint_id, c.dimension, c.value, reason))
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


def _is_about(constraint: Constraint, gold: CheckpointGold) -> bool:
    """By dimension; a constraint in free text by the events it cites."""
    if constraint.dimension:
        return constraint.dimension == gold.dimension
    return bool(gold.gold_event_ids & set(constraint.evidence))


def _is_right(constraint: Constraint, gold: CheckpointGold) -> bool:
    """The gold value, or a constraint without a value that cites a gold event."""
    if constraint.value:
        return (constraint.value == gold.value) == (constraint.polarity is Polarity.FOR) and (
            constraint.polarity is Polarity.FOR or constraint.value in gold.superseded_values
        )
    return bool(gold.gold_event_ids & set(constraint.evidence))


def _holds(constraint: Constraint, trajectory: Trajectory) -> bool:
    """Active; or a draft of an agent that never resolves, whose drafts go straight to the action."""
    if constraint.status is ConstraintStatus.ACTIVE:
        return True
    resolves = any(step.stage == "align" for step in trajectory.steps)
    return not resolves and all(c.status is ConstraintStatus.DRAFT for c in trajectory.constraints)


def _after_resolution(
    trajectory: Trajectory, right: Sequence[Constraint], active: Sequence[Constraint], gold: CheckpointGold
) -> GapStage:
    if trajectory.action is not None and gold.part and gold.part in trajectory.action.would_ask:
        return GapStage.RESOLVED_WRONGLY  # it asked, though the history had settled it
    planned = set(trajectory.plan)
    if not planned and not any(step.stage == "plan" for step in trajectory.steps):
        return GapStage.NOT_IN_ACTION
    if any(c.constraint_id in planned for c in right):
        return GapStage.NOT_IN_ACTION
    winners = [c for c in active if c.constraint_id in planned and not _is_right(c, gold)]
    return _wrong_winner(winners, gold) if winners else GapStage.NOT_IN_PLAN


def _is_planned(constraint: Constraint, trajectory: Trajectory) -> bool:
    """Or active in an agent that plans nothing, where what is active is applied."""
    return not trajectory.plan or constraint.constraint_id in trajectory.plan


def _wrong_winner(winners: Sequence[Constraint], gold: CheckpointGold) -> GapStage:
    """Over-applied where every winner that was applied belongs elsewhere; without one nothing was applied."""
    over = [_is_from(c, gold.distractor_event_ids) or _is_elsewhere(c, gold) for c in winners]
    return GapStage.OVER_APPLIED if over and all(over) else GapStage.RESOLVED_WRONGLY


def _is_elsewhere(constraint: Constraint, gold: CheckpointGold) -> bool:
    return constraint.polarity is Polarity.FOR and constraint.value in gold.elsewhere_values


def _is_from(constraint: Constraint, event_ids: frozenset[str]) -> bool:
    """Whether it cites these events and no others."""
    return bool(constraint.evidence) and event_ids.issuperset(constraint.evidence)


def _draws_constraints(trajectory: Trajectory) -> bool:
    return bool(trajectory.constraints) or any(step.stage in ("think", "align") for step in trajectory.steps)
