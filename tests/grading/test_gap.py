"""Each class of the gap is proved by a trajectory planted to end there.

Agents use their own words, so what a constraint is about is told by the events that it cites: "gold" shows what holds
now, "old" what held before or holds elsewhere, "a joke" and "ana's wish" show nothing.
"""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from agents.contract import (
    Action,
    ActionKind,
    Constraint,
    ConstraintStatus,
    Evidence,
    Stage,
    Step,
    StepKind,
    Termination,
    Trajectory,
)
from bench.grading.gap import (
    CheckpointGold,
    FunnelRow,
    GapStage,
    OverApplication,
    attribute,
    funnel,
    over_applications,
)
from bench.grading.types import VerdictValue

FAIL = VerdictValue.FAIL
GOLD = CheckpointGold(frozenset({"gold"}), frozenset({"old"}), part="dish")
DAY = datetime(2026, 3, 11, tzinfo=UTC)
STAGES = tuple(
    Step(stage, StepKind.MODEL, stage) for stage in (Stage.RETRIEVE, Stage.THINK, Stage.ALIGN, Stage.PLAN, Stage.ACT)
)


def seen(event_id, **more):
    return Evidence(event_id, DAY, "calendar", "crown comes off", **more)


def drawn(*cites, status=ConstraintStatus.ACTIVE, name="c1"):
    return Constraint(name, "food", "soft", "Soft food", evidence=cites or ("gold",), status=status)


CUE = (seen("gold"),)


def planted(*constraints, evidence=CUE, plan=("c1",), steps=STAGES, **more):
    return Trajectory(
        Termination.COMPLETED,
        steps,
        evidence,
        constraints,
        plan,
        Action(ActionKind.GENERATE, text="Crackling."),
        **more,
    )


def stage(trajectory, gold=GOLD, **more):
    return attribute(trajectory, gold, FAIL, **more)


def test_a_cue_that_was_never_retrieved():
    assert stage(planted(evidence=(seen("noise"),))) is GapStage.NOT_RETRIEVED
    assert stage(planted(evidence=())) is GapStage.NOT_RETRIEVED


def test_a_stale_constraint_without_the_new_cue_was_lost_in_retrieval():
    assert stage(planted(drawn("old"), evidence=(seen("old"),))) is GapStage.NOT_RETRIEVED


def test_a_cue_folded_into_a_near_duplicate_counts_as_retrieved():
    assert stage(planted(evidence=(seen("twin", support=("gold",)),))) is GapStage.NO_CONSTRAINT


def test_a_retrieved_cue_from_which_nothing_was_drawn():
    assert stage(planted()) is GapStage.NO_CONSTRAINT
    assert stage(planted(drawn("noise", name="c2"))) is GapStage.NO_CONSTRAINT


@pytest.mark.parametrize("status", set(ConstraintStatus) - {ConstraintStatus.ACTIVE})
def test_a_constraint_that_was_set_aside_was_resolved_wrongly(status):
    assert stage(planted(drawn(status=status))) is GapStage.RESOLVED_WRONGLY


def test_what_was_drawn_from_stale_events_alone_was_resolved_wrongly():
    assert stage(planted(drawn("old"))) is GapStage.RESOLVED_WRONGLY


def test_right_and_wrong_both_active_and_the_wrong_one_planned():
    assert stage(planted(drawn(), drawn("old", name="c2"), plan=("c2",))) is GapStage.RESOLVED_WRONGLY


def test_asking_for_what_the_history_settles_is_a_wrong_resolution():
    asked = planted(drawn())
    asked = replace(asked, action=Action(ActionKind.CALL_API, tool="order", would_ask=("dish",)))
    assert stage(asked) is GapStage.RESOLVED_WRONGLY


def test_a_right_constraint_that_is_not_in_the_plan():
    assert stage(planted(drawn(), plan=())) is GapStage.NOT_IN_PLAN
    assert stage(planted(drawn(), drawn("noise", name="c2"), plan=("c2",))) is GapStage.NOT_IN_PLAN


def test_a_planned_constraint_that_is_not_in_the_action():
    assert stage(planted(drawn())) is GapStage.NOT_IN_ACTION
    assert stage(replace(planted(drawn()), action=None)) is GapStage.NOT_IN_ACTION


def test_an_agent_without_a_plan_stage_can_only_lose_it_in_the_action():
    assert stage(planted(drawn(), plan=(), steps=())) is GapStage.NOT_IN_ACTION


def test_drafts_of_an_agent_that_never_resolves_count_as_applied():
    draft = drawn(status=ConstraintStatus.DRAFT)
    assert stage(planted(draft, plan=(), steps=())) is GapStage.NOT_IN_ACTION


def test_done_but_judged_wrong():
    assert stage(planted(drawn()), human_overruled=True) is GapStage.JUDGED_WRONG


ELSEWHERE = replace(GOLD, losing_holds_elsewhere=True)  # "old" shows what holds in a state that is over
MISLED = replace(GOLD, distractor_event_ids=frozenset({"ana's wish", "a joke"}))


def test_a_value_that_holds_elsewhere_was_applied_here():
    assert stage(planted(drawn("old")), ELSEWHERE) is GapStage.OVER_APPLIED
    both = planted(drawn(), drawn("old", name="c2"), plan=("c2",))
    assert stage(both, ELSEWHERE) is GapStage.OVER_APPLIED
    assert stage(planted(drawn("old")), GOLD) is GapStage.RESOLVED_WRONGLY  # it held once: stale


def test_a_constraint_from_distractors_alone_was_applied():
    assert stage(planted(drawn("a joke", "ana's wish")), MISLED) is GapStage.OVER_APPLIED
    assert stage(planted(drawn("a joke", "gold")), MISLED) is GapStage.NOT_IN_ACTION  # it saw the cue, too
    assert stage(planted(drawn("a joke", "old")), MISLED) is GapStage.RESOLVED_WRONGLY


def test_what_was_set_aside_or_not_planned_was_not_applied():
    expired = drawn("old", status=ConstraintStatus.EXPIRED)
    assert stage(planted(expired), ELSEWHERE) is GapStage.RESOLVED_WRONGLY
    assert stage(planted(drawn("old"), plan=("c9",)), ELSEWHERE) is GapStage.RESOLVED_WRONGLY


def test_applied_beside_another_wrong_winner_is_a_wrong_resolution():
    mixed = planted(drawn("a joke"), drawn("old", name="c2"), plan=("c1", "c2"))
    assert stage(mixed, MISLED) is GapStage.RESOLVED_WRONGLY


def test_over_application_needs_the_cue_to_have_been_seen():
    assert stage(planted(drawn("old"), evidence=(seen("old"),)), ELSEWHERE) is GapStage.NOT_RETRIEVED


def test_a_baseline_without_constraints_is_known_by_retrieval_only():
    assert stage(planted(evidence=(), steps=(), plan=())) is GapStage.NOT_RETRIEVED
    assert stage(planted(steps=(Step(Stage.RETRIEVE, StepKind.SEARCH, "10 events"),), plan=())) is GapStage.NOT_ACTED


def test_what_cannot_be_known_is_unknown():
    assert stage(planted(), CheckpointGold(frozenset())) is GapStage.UNKNOWN
    assert stage(replace(planted(), termination=Termination.MODEL_ERROR)) is GapStage.UNKNOWN


@pytest.mark.parametrize("verdict", [VerdictValue.PASS, VerdictValue.CANNOT_JUDGE])
def test_nothing_is_lost_without_a_failure(verdict):
    assert attribute(planted(), GOLD, verdict) is None


def test_over_applications_name_constraints_that_should_not_hold():
    trajectory = planted(
        drawn("old"),
        drawn("gold", name="c2"),
        drawn("a joke", name="c3"),
        drawn("noise", name="c4"),
        drawn("old", name="c5", status=ConstraintStatus.EXPIRED),
        drawn("old", "a joke", name="c6"),
        drawn("old", "gold", name="c7"),
        drawn("old", name="c8"),
        plan=("c1", "c2", "c3", "c4", "c5", "c6", "c7"),
    )
    assert over_applications(trajectory, frozenset({"a joke"}), frozenset({"old"})) == (
        OverApplication("c1", "drawn from what does not hold here"),
        OverApplication("c3", "drawn from events that show no preference"),
        OverApplication("c6", "drawn from what does not hold here"),
    )


def test_the_funnel_loses_checkpoints_stage_by_stage():
    stages = [None, None, GapStage.NOT_RETRIEVED, GapStage.NOT_RETRIEVED, GapStage.NO_CONSTRAINT]
    stages += [GapStage.RESOLVED_WRONGLY, GapStage.NOT_IN_PLAN, GapStage.NOT_IN_ACTION, GapStage.NOT_ACTED]
    stages += [GapStage.JUDGED_WRONG, GapStage.UNKNOWN]
    assert funnel(stages) == (
        FunnelRow("retrieved", 10, 2),
        FunnelRow("constraint drawn", 8, 1),
        FunnelRow("resolved", 7, 1),
        FunnelRow("planned", 6, 1),
        FunnelRow("acted on", 5, 2),
        FunnelRow("satisfied", 3, 0),
    )
