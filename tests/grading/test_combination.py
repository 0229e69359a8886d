import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.grading.combination import combine, escalations, in_audit_slice
from bench.grading.judges import parse
from bench.grading.types import Flag, Origin, Policy, VerdictRow, VerdictSource, VerdictValue, View

P, F, C = VerdictValue.PASS, VerdictValue.FAIL, VerdictValue.CANNOT_JUDGE
POLICY = Policy("1", ("a", "b", "c"))


def row(source, name, value, at=1, **more):
    return VerdictRow("k1", VerdictSource(source), name, value, at, **more)


def judges(*values):
    return [row("judge", name, value) for name, value in zip("abc", values, strict=False) if value]


def humans(*values):
    return [row("human", f"annotator{i}", value) for i, value in enumerate(values)]


def outcome(*rows, policy=POLICY, view=View.COMBINED):
    result = combine(rows, policy, view)
    return result.value, result.origin


def test_two_of_three_judges_decide():
    assert outcome(*judges(P, P, F)) == (P, Origin.PANEL)
    assert outcome(*judges(F, P, F)) == (F, Origin.PANEL)
    assert combine(judges(P, P, F), POLICY).reason == "2 of 3 judges say pass"


@pytest.mark.parametrize(
    ("votes", "value"),
    [((P, P), P), ((F, F), F), ((P, F), None), ((P,), None), ((F,), None), ((), None), ((P, C, F), None)],
)
def test_with_judges_lost_the_majority_is_still_of_the_configured_panel(votes, value):
    assert combine(judges(*votes), POLICY).value is value


def test_half_of_an_even_panel_is_no_majority():
    even = Policy("2", ("a", "b"))
    assert outcome(*judges(P, F), policy=even) == outcome(*judges(P), policy=even) == (None, Origin.NONE)
    assert outcome(*judges(P, P), policy=even) == (P, Origin.PANEL)


def test_what_is_missing_is_said():
    assert combine(judges(P, C), POLICY).reason == (
        "no majority of 3 judges: 1 pass, 0 fail, 1 cannot judge, 1 unscored"
    )
    assert combine(humans(P), POLICY, View.HUMAN).reason == "no 2 raters agree; 1 graded"


def test_a_judge_outside_the_panel_does_not_vote():
    assert outcome(*judges(P), row("judge", "stranger", P)) == (None, Origin.NONE)


def test_a_duplicated_verdict_does_not_count_twice():
    assert outcome(*judges(P), *judges(P)) == (None, Origin.NONE)
    assert outcome(*humans(P), *humans(P), *judges(F, F, F)) == (F, Origin.PANEL)


def test_the_latest_verdict_of_a_judge_counts():
    assert outcome(*judges(P, P, F), row("judge", "a", F, at=2)) == (F, Origin.PANEL)


def test_rule_beats_panel_and_humans_beat_rule():
    rule = row("rule", "rule", P, rationale="argument date is '2026-03-14'")
    assert outcome(rule, *judges(F, F, F)) == (P, Origin.RULE)
    assert outcome(rule, *humans(F, F)) == (F, Origin.HUMANS)
    assert combine([rule], POLICY).reason == "argument date is '2026-03-14'"


def test_a_rule_that_cannot_judge_leaves_it_to_the_panel():
    assert outcome(row("rule", "rule", C), *judges(P, P, P)) == (P, Origin.PANEL)


def test_one_human_is_not_enough_unless_the_policy_says_so():
    assert outcome(*humans(F), *judges(P, P, P)) == (P, Origin.PANEL)
    assert outcome(*humans(F), *judges(P, P, P), policy=Policy("2", ("a", "b", "c"), humans_required=1)) == (
        F,
        Origin.HUMANS,
    )


def test_humans_who_disagree_open_an_adjudication_and_the_score_is_provisional():
    result = combine([*humans(P, F), *judges(P, P, P)], POLICY)
    assert (result.value, result.origin, result.needs_adjudication) == (P, Origin.PANEL, True)
    assert result.adjudication_reason == "raters disagree: 1 pass, 1 fail"
    assert Flag.PROVISIONAL in result.flags


def test_a_third_rater_settles_the_value_and_the_dispute_stays_open():
    result = combine(humans(P, F, P), POLICY)
    assert (result.value, result.origin, result.needs_adjudication) == (P, Origin.HUMANS, True)


def test_two_against_two_is_no_agreement():
    assert outcome(*humans(P, P, F, F)) == (None, Origin.NONE)


def test_raters_who_cannot_judge_open_an_adjudication():
    assert combine(humans(C, C), POLICY).adjudication_reason == "2 raters cannot judge"


def test_humans_against_panel_open_an_adjudication_where_the_policy_asks():
    rows = [*humans(F, F), *judges(P, P, P)]
    result = combine(rows, POLICY)
    assert (result.value, result.needs_adjudication) == (F, True)
    assert result.adjudication_reason == "the raters say fail, the panel says pass"
    assert not combine(rows, Policy("2", ("a", "b", "c"), adjudicate_human_vs_panel=False)).needs_adjudication


def test_adjudication_beats_everything_and_the_last_one_counts():
    rows = [*humans(P, P), *judges(P, P, P), row("adjudication", "ada", F, at=5)]
    assert outcome(*rows) == (F, Origin.ADJUDICATION)
    assert outcome(*rows, row("adjudication", "bo", P, at=6)) == (P, Origin.ADJUDICATION)
    assert not combine(rows, POLICY).needs_adjudication


@pytest.mark.parametrize(
    "late",
    [row("human", "annotator0", F, at=9), row("human", "newcomer", P, at=9), row("judge", "a", F, at=9)],
    ids=["a rater changed", "a new rater", "a judge changed"],
)
def test_a_changed_input_reopens_an_adjudication(late):
    result = combine([*humans(P, F), *judges(P, P, P), row("adjudication", "ada", P, at=5), late], POLICY)
    assert (result.value, result.needs_adjudication) == (P, True)
    assert Flag.REOPENED in result.flags
    assert late.name in result.adjudication_reason


def test_the_same_verdict_again_reopens_nothing():
    rows = [*humans(P, F), row("adjudication", "ada", P, at=5), row("human", "annotator1", F, at=9)]
    assert not combine(rows, POLICY).needs_adjudication


def test_an_adjudicator_who_cannot_judge_settles_it_as_unscored():
    assert outcome(*judges(P, P, P), row("adjudication", "ada", C, at=5)) == (None, Origin.ADJUDICATION)


def test_the_three_views_see_their_own_sources():
    rows = [*judges(P, P, F), *humans(F, F), row("adjudication", "ada", F, at=5)]
    assert outcome(*rows, view=View.AI) == (P, Origin.PANEL)
    assert outcome(*rows, view=View.HUMAN) == (F, Origin.ADJUDICATION)
    assert outcome(*rows[:-1], view=View.HUMAN) == (F, Origin.HUMANS)
    assert outcome(*judges(P, P, P), view=View.HUMAN) == (None, Origin.NONE)
    assert not combine(rows, POLICY, View.AI).needs_adjudication


def test_two_rows_that_differ_in_their_flag_only_count_the_same_in_any_order():
    plain, flagged = row("judge", "a", P), row("judge", "a", P, contradictory=True)
    assert combine([plain, flagged], POLICY) == combine([flagged, plain], POLICY)


def test_rows_of_two_checkpoints_are_refused():
    with pytest.raises(ValueError, match=r"\['k1', 'k2'\]"):
        combine([*judges(P), VerdictRow("k2", VerdictSource.JUDGE, "b", P, 1)], POLICY)


@pytest.mark.parametrize(
    ("rows", "reasons"),
    [
        (judges(P, P, P), ()),
        (judges(P, P, F), (Flag.SPLIT_PANEL,)),
        (judges(P, P, C), (Flag.CANNOT_JUDGE,)),
        (judges(P, P), ()),
        (judges(P), (Flag.NO_MAJORITY,)),
        ([], (Flag.NO_MAJORITY,)),
        (judges(P, F), (Flag.NO_MAJORITY, Flag.SPLIT_PANEL)),
        ([*judges(P, P), row("judge", "c", P, contradictory=True)], (Flag.CONTRADICTION,)),
        ([row("rule", "rule", P)], ()),
        ([*judges(P, P, P), *humans(F, F)], ()),
    ],
)
def test_escalation_names_its_reasons(rows, reasons):
    assert escalations(rows, POLICY) == reasons


def test_audit_slice_is_random_by_id_and_fixed_by_seed():
    ids = [f"t{i}" for i in range(10_000)]
    chosen = {i for i in ids if in_audit_slice(i, 7, 0.1)}
    assert 0.09 < len(chosen) / len(ids) < 0.11
    assert chosen == {i for i in reversed(ids) if in_audit_slice(i, 7, 0.1)}
    assert chosen != {i for i in ids if in_audit_slice(i, 8, 0.1)}
    assert chosen <= {i for i in ids if in_audit_slice(i, 7, 0.2)}  # a larger share keeps what was graded


def test_audit_share_at_its_ends():
    assert in_audit_slice("t", 1, 1.0)
    assert not in_audit_slice("t", 1, 0.0)
    with pytest.raises(ValueError, match="share is 2"):
        in_audit_slice("t", 1, 2)


@pytest.mark.parametrize("wrong", [{"panel": ("a", "a")}, {"humans_required": 0}, {"audit_share": 1.5}])
def test_an_impossible_policy_is_refused(wrong):
    with pytest.raises(ValueError, match="Policy 1"):
        Policy(**{"version": "1", "panel": ("a",)} | wrong)


any_rows = st.lists(
    st.builds(
        row,
        st.sampled_from(["rule", "judge", "human", "adjudication"]),
        st.sampled_from(["a", "b", "c", "d"]),
        st.sampled_from([P, F, C]),
        st.integers(1, 4),
        contradictory=st.booleans(),
    ),
    max_size=12,
)


@given(any_rows, st.randoms(use_true_random=False), st.sampled_from(list(View)))
def test_order_and_duplicates_never_matter(rows, rng, view):
    shuffled = rows + rng.sample(rows, len(rows) // 2)
    rng.shuffle(shuffled)
    assert combine(shuffled, POLICY, view) == combine(rows, POLICY, view)


@given(any_rows, st.sampled_from(list(View)))
def test_a_value_is_pass_fail_or_none_and_always_has_a_reason(rows, view):
    result = combine(rows, POLICY, view)
    assert result.value in (P, F, None)
    assert result.reason
    assert bool(result.adjudication_reason) == result.needs_adjudication


@given(any_rows)
def test_names_of_judges_can_be_swapped(rows):
    swap = {"a": "c", "b": "a", "c": "b", "d": "d"}
    renamed = [
        VerdictRow(r.checkpoint_id, r.source, swap[r.name], r.value, r.created_at)
        for r in rows
        if r.source is VerdictSource.JUDGE
    ]
    original = [r for r in rows if r.source is VerdictSource.JUDGE]
    assert combine(renamed, POLICY).value == combine(original, POLICY).value


def score(replies):
    """Combined values per checkpoint from raw judge replies, as a run does it."""
    ids = ["k1", "k2"]
    results = {name: parse(text, ids) for name, text in replies.items()}
    rows = {key: [row("judge", n, r.verdicts[key][0]) for n, r in results.items() if key in r.verdicts] for key in ids}
    return {key: combine(found, POLICY).value for key, found in rows.items()}


def reply(first, second):
    return json.dumps(
        {
            "verdicts": [
                {"id": "k1", "rationale": "seen", "verdict": first},
                {"id": "k2", "rationale": "seen", "verdict": second},
            ]
        }
    )


def test_prose_from_one_judge_leaves_the_two_others_to_agree():
    whole = {"a": reply("pass", "fail"), "b": reply("pass", "fail"), "c": reply("pass", "pass")}
    assert score(whole) == {"k1": P, "k2": F}
    assert score(whole | {"a": "All good, pass!"}) == {"k1": P, "k2": None}
    assert score({"a": "no", "b": "", "c": whole["c"]}) == {"k1": None, "k2": None}


def test_a_fifth_of_malformed_replies_makes_gaps_and_never_changes_a_value():
    rng = random.Random(3)
    damage = ["prose: pass", "{", '{"verdicts": []}', '{"verdicts": [{"id": "k1", "verdict": "maybe"}]}']
    gaps = 0
    for _ in range(400):
        truth = [rng.choice(["pass", "fail"]) for _ in range(2)]
        whole = {name: reply(*truth) for name in "abc"}
        broken = {n: rng.choice(damage) if rng.random() < 0.2 else text for n, text in whole.items()}
        for key, value in score(broken).items():
            assert value in (score(whole)[key], None)
            gaps += value is None
    # two or three of three lost: 3 * .2^2 * .8 + .2^3 = .104
    assert 0.07 < gaps / 800 < 0.14


@pytest.mark.parametrize(("grade", "words"), [("pass", "1 pass, 0 fail"), ("fail", "0 pass, 1 fail")])
def test_a_grade_beside_one_that_cannot_judge_goes_to_the_adjudicator(grade, words):
    rows = [row("human", "ann", VerdictValue(grade)), row("human", "ben", C, 2)]
    found = combine(rows, POLICY)
    assert (found.needs_adjudication, found.adjudication_reason) == (
        True, f"raters disagree: {words}, 1 cannot judge",
    )  # fmt: skip
    settled = combine([*rows, row("human", "cleo", VerdictValue(grade), 3)], POLICY)
    assert (settled.value, settled.needs_adjudication) == (VerdictValue(grade), False)
