from dataclasses import dataclass, replace

import numpy as np
import pytest

from bench.grading.panel import (
    MENU,
    Judged,
    against_itself,
    by_action,
    by_family,
    by_length,
    by_position,
    panel_warnings,
)
from bench.grading.types import VerdictValue
from bench.statistics.intervals import clustered_mean, paired_difference

P, F, C = VerdictValue.PASS, VerdictValue.FAIL, VerdictValue.CANNOT_JUDGE


@dataclass(frozen=True)
class Item:
    judge: str = "a"
    persona: int = 1
    own: bool = True
    call: bool = False
    chars: int = 100
    position: int = 1
    value: VerdictValue | None = P
    reference: VerdictValue | None = P
    again: VerdictValue | None = None


ITEM = Item()


def judged(*items):
    """The items of each judge as arrays."""
    found = []
    for judge in sorted({item.judge for item in items}):
        mine = [item for item in items if item.judge == judge]
        codes = {
            name: np.array([MENU.index(v) if (v := getattr(item, name)) in MENU else -1 for item in mine])
            for name in ("value", "reference", "again")
        }
        own = np.array([item.own for item in mine])
        chars, position = (np.array([getattr(item, name) for item in mine]) for name in ("chars", "position"))
        persona, calls = np.array([item.persona for item in mine]), np.array([item.call for item in mine])
        found.append(Judged(judge, persona, own, chars, position, calls, **codes))
    return found


def test_agreement_is_shown_by_length_of_the_candidate():
    items = [ITEM, replace(ITEM, chars=499), replace(ITEM, chars=500, reference=F)]
    items.append(replace(ITEM, chars=9000))
    rows = by_length(judged(*items), edges=(1500, 500))
    assert [(r.group, r.raw.n, r.raw.value) for r in rows] == [
        ("1: 0 to 499 characters", 2, 1),
        ("2: 500 to 1499 characters", 1, 0),
        ("3: 1500 to more characters", 1, 1),
    ]


def test_agreement_is_shown_by_position_in_order():
    rows = by_position(judged(*(replace(ITEM, position=p) for p in (10, 2, 1))))
    assert [row.group for row in rows] == ["01", "02", "10"]


def test_own_family_is_kept_apart():
    rows = by_family(judged(ITEM, replace(ITEM, own=False, reference=F), replace(ITEM, judge="b")))
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
    (row,) = by_position(judged(*items))
    assert row.rate_gap.difference == pytest.approx(0.5)
    assert row.raw.value == pytest.approx(0.5)


def test_each_number_of_a_card_has_its_interval_by_persona():
    # three personas with two items each; the judge passes all, the humans fail one item of the first
    items = [replace(ITEM, persona=number // 2, reference=F if number == 0 else P) for number in range(6)]
    (row,) = by_position(judged(*items))
    personas = [0, 0, 1, 1, 2, 2]
    assert row.raw_interval == clustered_mean([0, 1, 1, 1, 1, 1], personas)
    assert row.rate_gap == paired_difference([1] * 6, [0, 1, 1, 1, 1, 1], personas)
    assert row.ac1_interval.low < row.ac1.value <= row.ac1_interval.high


def test_agreement_is_shown_for_texts_and_for_calls():
    rows = by_action(judged(ITEM, replace(ITEM, call=True, reference=F)))
    assert [(row.split, row.group, row.raw.value) for row in rows] == [("tasks", "calls", 0), ("tasks", "texts", 1)]


def test_test_retest_compares_a_judge_with_itself():
    (row,) = against_itself(judged(replace(ITEM, again=P), replace(ITEM, again=F), ITEM))
    assert (row.split, row.raw.n, row.raw.value) == ("test-retest", 2, 0.5)


def test_unscored_and_cannot_judge_agree_with_nothing():
    (row,) = by_position(judged(replace(ITEM, value=None, reference=None), replace(ITEM, value=C, reference=C)))
    assert (row.raw.value, row.ac1.value, row.rate_gap.difference) == (None, None, None)
    assert row.raw.reason == "undefined because no item has two ratings"


def _named(slug, family="", model=""):
    return {"slug": slug, "family": family or slug, "model": model or slug}


AGENT = _named("agent")


def test_three_judges_of_three_families_need_no_warning():
    assert panel_warnings([_named("a"), _named("b"), _named("c")], AGENT) == []


def test_a_panel_of_one_or_two_is_warned_of():
    assert panel_warnings([_named("a")], AGENT) == ["The panel has one judge, a: its errors are the scores' errors."]
    two = "The panel has two judges, a and b: where they differ, there is no majority."
    assert panel_warnings([_named("a"), _named("b")], AGENT) == [two]


def test_a_judge_named_twice_is_warned_of():
    found = panel_warnings([_named("a"), _named("b"), _named("c"), _named("a")], AGENT)
    assert found == ["a is named 2 times in the panel; it has one vote."]


def test_judges_of_one_model_or_family_are_warned_of():
    found = panel_warnings([_named("a", "Qwen"), _named("b", "qwen "), _named("c")], AGENT)
    assert found == ["a and b are of one family, qwen: they tend to err together."]
    found = panel_warnings([_named("a", model="m"), _named("b", model="m"), _named("c")], AGENT)
    assert found == ["a and b are the same model, m: they tend to err together."]


def test_a_judge_of_the_agents_family_is_warned_of():
    found = panel_warnings([_named("a", "agent"), _named("b"), _named("c")], AGENT)
    assert found == ["a: of the agent's own family, agent; it may favour its kind."]
