"""Effective votes of a panel; the arithmetic stands beside each golden value."""

import numpy as np
import pytest
from hypothesis import given

from bench.results.panel_votes import panel_report
from bench.statistics.agreement import Agreement
from bench.statistics.votes import effective_votes, votes_interval
from tests.grading.test_agreement import ratings_strategy

P, F = "pass", "fail"
PASS, FAIL, NONE = 0, 1, -1


def test_independent_errors_count_as_full_votes():
    reference = ["pass"] * 4
    judges = [["pass", "pass", "fail", "fail"], ["pass", "fail", "pass", "fail"]]
    # errors 0011 and 0101: r = 0, so 2 / (1 + 1 * 0) = 2
    assert effective_votes(judges, reference) == Agreement(pytest.approx(2), None, 4)


def test_three_judges_that_always_err_together_are_one_vote():
    reference = ["pass", "pass", "fail", "fail"]
    judge = ["pass", "fail", "fail", "pass"]
    assert effective_votes([judge] * 3, reference).value == pytest.approx(1)  # 3 / (1 + 2 * 1)


def test_half_correlated_errors_leave_1_6_votes():
    # errors 110000 (mean 1/3) and 101000: cov = 1/6 - 1/9 = 1/18; var = 2/9; r = 1/4. 2 / (1 + 1/4) = 1.6
    reference = ["pass"] * 6
    judges = [
        ["fail", "fail", "pass", "pass", "pass", "pass"],
        ["fail", "pass", "fail", "pass", "pass", "pass"],
    ]
    assert effective_votes(judges, reference).value == pytest.approx(1.6)


def test_effective_votes_say_why_they_are_undefined():
    assert effective_votes([["pass"]]).reason == "undefined because the panel has 1 judge(s)"
    assert "0 of 2 judges varies" in effective_votes([["pass", "pass"], ["pass", "pass"]]).reason
    assert "reference" in effective_votes([["a", "b", "c"], ["a", "b", "c"]]).reason


@given(ratings_strategy)
def test_effective_votes_lie_between_one_and_the_number_of_judges(ratings):
    result = effective_votes(ratings)
    assert result.value is None or 1 - 1e-9 <= result.value <= len(ratings) + 1e-9


def test_a_judge_that_always_says_the_same_is_no_vote():
    """The two others are as in the test above, 1.6; with an always-pass judge the number was 3 / (1 + 2 * r / 3)."""
    reference = ["pass"] * 6
    judges = [["fail", "fail", *["pass"] * 4], ["fail", "pass", "fail", *["pass"] * 3]]
    assert effective_votes([*judges, [P] * 6], reference).value == pytest.approx(1.6)
    assert effective_votes([*judges, [F] * 6], reference).value == pytest.approx(1.6)
    assert effective_votes([*judges, [None] * 6], reference).value == pytest.approx(1.6)


def test_votes_alone_are_no_lower_bound_where_judges_are_lenient_together():
    """25 right items, all passed; of 25 wrong ones each judge passes 15: both 9, one alone 6, the other 6, neither 4.

    errors: mean 0.3, both 9/50: cov = 0.18 - 0.09 = 0.09; r = 0.09 / 0.21 = 3/7; 2 / (1 + 3/7) = 1.4.
    votes for fail: mean 0.2, both 4/50: cov = 0.08 - 0.04 = 0.04; r = 0.04 / 0.16 = 1/4; 2 / (1 + 1/4) = 1.6.
    """
    truth = [P] * 25 + [F] * 25
    judges = [[P] * 25 + [P] * 9 + [P] * 6 + [F] * 6 + [F] * 4, [P] * 25 + [P] * 9 + [F] * 6 + [P] * 6 + [F] * 4]
    assert effective_votes(judges, truth).value == pytest.approx(1.4)
    assert effective_votes(judges).value == pytest.approx(1.6)


def _judge(rng, truth, right):
    """A judge that is right on a share of the items, codes as in MENU."""
    return np.where(rng.random(len(truth)) < right, truth, 1 - truth)


@pytest.fixture
def table():
    """400 items of 20 personas; three judges that are right on 85%, a coin, and one that always passes."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 400)
    rows = [_judge(rng, truth, right) for right in (0.85, 0.85, 0.85, 0.5)]
    return np.stack([*rows, np.zeros(400, dtype=np.int64)]), truth, np.repeat(np.arange(20), 20)


NAMES = ("a", "b", "c", "coin", "kind")


def test_only_judges_of_the_panel_count(table):
    votes, humans, persona = table
    alone = panel_report(NAMES[:3], NAMES[:3], votes[:3], humans, persona)
    among = panel_report(NAMES[:3], NAMES, votes, humans, persona)
    assert among["effective_votes"] == alone["effective_votes"] > 2.5
    assert {line["judge"]: line["left_out"] for line in among["panel"]} == {
        "a": "", "b": "", "c": "", "coin": "is not of the panel", "kind": "is not of the panel",
    }  # fmt: skip


def test_a_constant_judge_of_the_panel_is_flagged_and_left_out(table):
    votes, humans, persona = table
    report = panel_report(NAMES[:3] + NAMES[4:], NAMES, votes, humans, persona)
    assert report["effective_votes_of"] == ["a", "b", "c"]
    assert report["effective_votes"] == panel_report(NAMES[:3], NAMES, votes, humans, persona)["effective_votes"]
    assert report["panel"][4]["left_out"] == "always says pass"


def test_a_judge_of_the_panel_without_a_vote_is_named(table):
    votes, humans, persona = table
    report = panel_report(["a", "b", "gone"], NAMES[:2], votes[:2], humans, persona)
    assert (report["panel"][2]["judge"], report["panel"][2]["left_out"]) == ("gone", "gave no vote")


def test_a_coin_shows_by_its_accuracy_against_humans(table):
    votes, humans, persona = table
    report = panel_report(NAMES[:4], NAMES[:4], votes[:4], humans, persona)
    lines = {line["judge"]: line for line in report["panel"]}
    assert lines["a"]["accuracy"] == round(float((votes[0] == humans).mean()), 4)
    assert lines["a"]["low"] < lines["a"]["accuracy"] < lines["a"]["high"]
    assert (lines["a"]["better_than_chance"], lines["coin"]["better_than_chance"]) == (True, False)
    assert lines["a"]["n_humans"] == 400


def test_without_humans_accuracy_is_unknown_and_the_number_is_of_votes(table):
    votes, humans, persona = table
    report = panel_report(NAMES[:3], NAMES[:3], votes[:3], np.full_like(humans, NONE), persona)
    assert report["effective_votes_against"] == "votes"
    assert report["panel"][0]["accuracy"] is None
    assert report["panel"][0]["reason"] == "undefined because humans decided nothing that it voted on"


def test_the_interval_draws_personas_and_holds_the_number(table):
    votes, humans, persona = table
    report = panel_report(NAMES[:3], NAMES[:3], votes[:3], humans, persona)
    low, high = report["effective_votes_low"], report["effective_votes_high"]
    assert 1 <= low < report["effective_votes"] <= high <= 3
    one = votes_interval([[P, F], [F, P]], None, [7, 7])
    assert one.reason == "undefined because there is one persona"


def test_a_panel_of_which_nobody_counts_says_why(table):
    votes, humans, persona = table
    report = panel_report(["kind"], NAMES, votes, humans, persona)
    assert report["effective_votes"] is report["effective_votes_low"] is None
    assert "the panel has 0 judge(s) that count" in report["effective_votes_reason"]
    assert "kind always says pass" in report["effective_votes_reason"]
