"""How numbers are written, and what may be drawn."""

from __future__ import annotations

import pytest

from bench.pages import numbers
from bench.pages.charts import IntervalRow, axis_end, forest


def test_shares_have_two_decimals_and_what_is_not_quite_nothing_is_not_written_as_nothing():
    assert [numbers.share(value) for value in (0.0, 0.004, 0.005, 0.02, 0.994, 0.996, 1.0)] == [
        "0.00", "<0.01", "0.01", "0.02", "0.99", ">0.99", "1.00",
    ]  # fmt: skip
    assert numbers.interval({"low": 0.0, "high": 0.4}) == "(0.00–0.40)"
    assert numbers.interval({"low": 0.001, "high": 0.1}) == "(<0.01–0.10)"


def test_a_share_that_is_not_nothing_is_never_zero_percent_and_one_that_is_not_all_never_a_hundred():
    assert numbers.percent(0.001) == "<1%"
    assert [numbers.percent(share) for share in (0.994, 0.996, 1.0)] == ["99%", ">99%", "100%"]
    assert numbers.percent(0.0) == "0%"
    assert numbers.percent(None) == "–"


def test_a_difference_carries_its_sign_and_zero_has_none():
    assert numbers.signed(0.204) == "+0.20"
    assert numbers.signed(-0.034) == "−0.03"
    assert numbers.signed(-0.001) == "−<0.01"
    assert numbers.signed(0.0) == "0.00"


def test_a_difference_of_nothing_has_no_sign_whatever_is_left_of_its_sum():
    # what floating point leaves of .1 + .2 - .3, either way round, and minus zero
    assert [numbers.signed(value) for value in (5.6e-17, -5.6e-17, -0.0)] == ["0.00"] * 3
    assert numbers.signed(0.001) == "+<0.01"
    assert numbers.share(-5.6e-17) == "0.00"
    assert numbers.share(-0.034) == "−0.03"
    assert numbers.interval({"low": -0.001, "high": 0.001}, sign=True) == "(−<0.01 to +<0.01)"


def test_94_9_percent_of_coverage_does_not_read_as_95():
    # 949 of 1000 is below the limit, and its percentage is cut, not rounded
    assert (
        numbers.withheld({"planned": 1000, "evaluated": 949}) == "evaluated 949 of 1,000 (94%); no headline below 95%"
    )
    assert numbers.withheld({"planned": 1000, "evaluated": 950}) == ""
    assert numbers.withheld({"planned": 0, "evaluated": 0}) == "nothing was planned"


@pytest.mark.parametrize(
    ("value", "text"), [(0.32, "320 ms"), (9.2, "9.2 s"), (250, "4 min 10 s"), (7500, "2 h 5 min"), (None, "–")]
)
def test_a_time_is_written_in_the_unit_that_fits(value, text):
    assert numbers.seconds(value) == text


def test_small_amounts_of_money_do_not_vanish():
    assert numbers.usd(0.004) == "<$0.01"
    assert numbers.usd(0) == "$0.00"
    assert numbers.usd(1234.5) == "$1,234.50"


def test_a_lead_that_does_not_survive_holm_is_said_to_be_one():
    pair = {"a": "iba", "b": "rag", "difference": 0.2, "distinguishable": True, "p_holm": 0.2}
    assert numbers.pair_words(pair) == "IBA-Agent is ahead on its own, not after Holm"
    assert numbers.pair_words({**pair, "p_holm": 0.01, "difference": -0.2}) == "RAG is ahead"
    assert numbers.pair_words({**pair, "distinguishable": False}) == "not distinguishable"


def row(label: str = "RAG", low: float = 0.1, high: float = 0.3, *, hollow: bool = False) -> IntervalRow:
    return IntervalRow(label, label, 0.2, low, high, "var(--m-rag)", hollow)


def test_a_label_cannot_put_markup_into_a_chart():
    drawn = forest([row("<script>x</script>")])
    assert drawn is not None
    assert "<script" not in drawn.wide
    assert "&lt;script&gt;" in drawn.wide


def test_a_simulated_row_is_hollow_and_colours_follow_the_theme():
    drawn = forest([row(hollow=True)])
    assert drawn is not None
    assert 'fill="var(--bg)"' in drawn.wide
    assert 'stroke="var(--m-rag)"' in drawn.wide


def test_nothing_to_draw_is_no_chart():
    assert forest([]) is None


def test_the_axis_of_differences_ends_at_the_next_tenth():
    # widest bound is 0.31, so 0.4; never below 0.2
    assert axis_end([row(low=-0.31)]) == 0.4
    assert axis_end([row(low=0.0, high=0.05)]) == 0.2
