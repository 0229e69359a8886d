from dataclasses import replace

import pytest

from bench.scoring.panel import JudgedItem, against_itself, by_family, by_length, by_position
from bench.scoring.types import VerdictValue

P, F, C = VerdictValue.PASS, VerdictValue.FAIL, VerdictValue.CANNOT_JUDGE
ITEM = JudgedItem("a", "qwen", "qwen", 100, 1, P, P)


def test_agreement_is_shown_by_length_of_the_candidate():
    items = [ITEM, replace(ITEM, candidate_chars=499), replace(ITEM, candidate_chars=500, reference=F)]
    items.append(replace(ITEM, candidate_chars=9000))
    rows = by_length(items, edges=(1500, 500))
    assert [(r.group, r.raw.n, r.raw.value) for r in rows] == [
        ("1: 0 to 499 characters", 2, 1),
        ("2: 500 to 1499 characters", 1, 0),
        ("3: 1500 to more characters", 1, 1),
    ]


def test_agreement_is_shown_by_position_in_order():
    rows = by_position([replace(ITEM, position=p) for p in (10, 2, 1)])
    assert [row.group for row in rows] == ["01", "02", "10"]


def test_own_family_is_kept_apart():
    rows = by_family([ITEM, replace(ITEM, agent_family="llama", reference=F), replace(ITEM, judge="b")])
    assert [(r.judge, r.group, r.raw.value) for r in rows] == [
        ("a", "other family", 0),
        ("a", "own family", 1),
        ("b", "own family", 1),
    ]


def test_leniency_is_the_difference_of_pass_rates():
    # the judge passes 3 of 4, the humans 1 of 4
    items = [
        ITEM,
        replace(ITEM, reference=F),
        replace(ITEM, reference=F),
        replace(ITEM, value=F, reference=F),
    ]
    (row,) = by_position(items)
    assert row.rate_gap == pytest.approx(0.5)
    assert row.raw.value == pytest.approx(0.5)


def test_test_retest_compares_a_judge_with_itself():
    (row,) = against_itself([replace(ITEM, again=P), replace(ITEM, again=F), ITEM])
    assert (row.split, row.raw.n, row.raw.value) == ("test-retest", 2, 0.5)


def test_unscored_and_cannot_judge_agree_with_nothing():
    (row,) = by_position([replace(ITEM, value=None, reference=None), replace(ITEM, value=C, reference=C)])
    assert (row.raw.value, row.ac1.value, row.rate_gap) == (None, None, None)
    assert row.raw.reason == "undefined because no item has two ratings"
