import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.statistics.intervals import (
    Measure,
    clustered_count,
    clustered_mean,
    clustered_share,
    holm,
    paired_difference,
    wilson,
)


def test_interval_follows_the_formula_by_hand():
    # Four personas with two values each: sums of residuals from the mean .5 are 1, 0, -1, 0.
    # V = 4/3 * (1 + 1) / 8^2 = .041667; n* = .25 / .041667 = 6; t(3) = 3.18245, t^2 = 10.12797
    # half = 3.18245 * sqrt(.25/6 + 10.12797/144) / (1 + 10.12797/6) = 1.06505 / 2.68800 = .39622
    measure = clustered_mean([1, 1, 1, 0, 0, 0, 1, 0], list("aabbccdd"))
    assert measure == Measure(0.5, pytest.approx(0.10378, abs=2e-5), pytest.approx(0.89622, abs=2e-5), 8)


def test_wilson_equals_the_textbook_value():
    # 81 of 263: Newcombe 1998, Statistics in Medicine 17, table 1 method 3: .2553 to .3662
    low, high = wilson(81 / 263, 263, 1.959964)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)


def test_measure_as_json_has_the_four_keys_of_a_cell():
    assert clustered_mean([1, 0, 1], "abc").to_json().keys() == {"mean", "low", "high", "n"}


def test_no_value_has_no_mean_and_no_zero():
    assert clustered_mean([], []) == Measure(None, None, None, 0)
    assert clustered_mean([None, None], "ab") == Measure(None, None, None, 0)


def test_unscored_is_left_out_and_not_zero():
    assert clustered_mean([1, None, 1, 0], "abcd") == clustered_mean([1, 1, 0], "acd")


def test_one_persona_says_nothing_of_others():
    assert clustered_mean([1, 0, 1, 1], "aaaa") == Measure(0.75, 0.0, 1.0, 4)


def test_all_passed_leaves_room_below_and_more_personas_leave_less():
    few, many = clustered_mean([1] * 5, range(5)), clustered_mean([1] * 100, range(100))
    assert few.mean == few.high == 1
    assert few.low < 0.5 < 0.9 < many.low < 1


def test_same_personas_repeated_do_not_narrow_the_interval():
    once = clustered_mean([1, 0, 1, 0, 1, 1], range(6))
    tenfold = clustered_mean([1, 0, 1, 0, 1, 1] * 10, list(range(6)) * 10)
    assert (tenfold.low, tenfold.high) == pytest.approx((once.low, once.high))


def test_values_outside_the_range_and_unequal_lists_are_refused():
    with pytest.raises(ValueError, match=r"1\.5 is outside 0\.\.1"):
        clustered_mean([1.5], "a")
    with pytest.raises(ValueError, match="outside"):
        clustered_mean([float("nan")], "a")
    with pytest.raises(ValueError, match="2 values for 1 clusters"):
        clustered_mean([1, 0], "a")


def test_nothing_of_27_bounds_no_higher_than_one_of_27():
    # Nine personas of three tasks. 0 of 27: n* = 27, t(8)^2 = 2.3060^2 = 5.3177; high = 5.3177 / 32.3177 = .16454
    personas = [task // 3 for task in range(27)]
    none, one = clustered_mean([0] * 27, personas), clustered_mean([1] + [0] * 26, personas)
    assert none.high == pytest.approx(0.16454, abs=2e-5)
    assert none.high < one.high < 0.24


@given(st.lists(st.integers(0, 5), min_size=2, max_size=40))
def test_one_success_more_than_none_never_lowers_the_upper_bound(personas):
    none = clustered_mean([0] * len(personas), personas)
    one = clustered_mean([1] + [0] * (len(personas) - 1), personas)
    assert none.high <= one.high


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5)), min_size=1, max_size=40))
def test_interval_holds_the_mean_and_stays_in_range(rows):
    measure = clustered_mean([v for v, _ in rows], [c for _, c in rows])
    assert 0 <= measure.low <= measure.mean <= measure.high <= 1


def test_interval_covers_the_truth_about_19_times_of_20():
    rng = np.random.default_rng(11)
    personas = np.repeat(np.arange(40), 5)
    covered = 0
    for _ in range(1000):
        skill = rng.beta(7, 3, size=40)  # mean .7; tasks of one persona are alike
        measure = clustered_mean((rng.random(200) < skill[personas]).astype(float).tolist(), personas.tolist())
        covered += measure.low <= 0.7 <= measure.high
    assert 0.93 <= covered / 1000 <= 0.97


def test_sign_flip_p_is_exact_for_few_personas():
    # Six personas, all better by 1: 2 of 2^6 sign patterns are as extreme. p = 2 / 64
    result = paired_difference([1] * 6, [0] * 6, range(6))
    assert result.difference == 1
    assert result.p == pytest.approx(2 / 64)


def test_sign_flip_p_counts_the_observed_pattern_among_the_random_ones():
    # Forty personas, all better: no random pattern of 999 is as extreme. p = (0 + 1) / (999 + 1)
    assert paired_difference([1] * 40, [0] * 40, range(40), draws=999).p == pytest.approx(1 / 1000)


def test_tied_personas_do_not_change_p():
    plain = paired_difference([1] * 6, [0] * 6, range(6))
    tied = paired_difference([1] * 6 + [1] * 4, [0] * 6 + [1] * 4, range(10))
    assert tied.p == plain.p


def test_a_cell_against_itself_is_not_distinguishable():
    same = paired_difference([1, 0, 1, 1] * 30, [1, 0, 1, 1] * 30, range(120))
    assert (same.difference, same.p, same.words) == (0, 1, "not distinguishable")
    assert same.low < 0 < same.high


def test_a_clear_difference_is_distinguishable_and_changes_sign_when_swapped():
    rng = np.random.default_rng(5)
    a, b = (rng.random(300) < 0.8).astype(float).tolist(), (rng.random(300) < 0.6).astype(float).tolist()
    personas = [i // 3 for i in range(300)]
    ab, ba = paired_difference(a, b, personas), paired_difference(b, a, personas)
    assert ab.distinguishable
    assert ab.words == "distinguishable"
    assert (ba.difference, ba.low, ba.high) == pytest.approx((-ab.difference, -ab.high, -ab.low))
    assert ab == paired_difference(a, b, personas)


def test_pairs_that_never_differ_bound_the_difference_as_one_over_n_and_not_as_its_root():
    # 214 pairs of 27 personas, none differs. Two pairs join: n + 2 = 216, mean 0, added ((1)^2 + (1)^2) / 2 + 0 = 1.
    # V = (0 + 1) / 216^2; t(26) = 2.05553; half = 2.05553 / 216 = .009516. As a share of one half it was .14.
    same = paired_difference([1] * 214, [1] * 214, [pair % 27 for pair in range(214)])
    assert (same.difference, same.p, same.n) == (0, 1, 214)
    assert (same.low, same.high) == pytest.approx((-0.009516, 0.009516), abs=1e-6)


def test_the_interval_of_a_difference_follows_the_formula_by_hand():
    # Four personas with two pairs each, differences 1 0, 0 0, -1 1, 1 0: their sum is 2, mean' = 2 / (8 + 2) = .2
    # residuals by persona .6, -.4, -.4, .6: 4/3 * (.36 + .16 + .16 + .36) = 1.38667
    # independent values: squares .64 + .04 + .04 + .04 + 1.44 + .64 + .64 + .04 = 3.52, times 8/7 = 4.02286, is more
    # added: (.8^2 + 1.2^2) / 2 + .2^2 = 1.08; V = (4.02286 + 1.08) / 10^2 = .0510286, root .225895
    # t(3) = 3.18245; half = .718899; .2 - .718899 = -.518899, .2 + .718899 = .918899
    gaps = [1, 0, 0, 0, -1, 1, 1, 0]
    found = paired_difference([max(gap, 0) for gap in gaps], [max(-gap, 0) for gap in gaps], list("aabbccdd"))
    assert found.difference == pytest.approx(0.25)
    assert (found.low, found.high) == pytest.approx((-0.518899, 0.918899), abs=1e-5)


def test_one_pair_that_differs_never_narrows_the_interval():
    personas = [pair // 3 for pair in range(27)]
    none = paired_difference([1] * 27, [1] * 27, personas)
    one = paired_difference([1] * 27, [0] + [1] * 26, personas)
    # t(8) = 2.30600; 2.30600 / 29 = .079517 with none, more with one
    assert none.high == pytest.approx(0.079517, abs=1e-6)
    assert one.high > none.high
    assert one.high - one.low > none.high - none.low


@given(st.lists(st.tuples(st.sampled_from([-1, -0.5, 0, 0.25, 1]), st.integers(0, 5)), min_size=1, max_size=40))
def test_the_interval_of_a_difference_holds_it_and_turns_with_it(rows):
    a, b = [max(gap, 0) for gap, _ in rows], [max(-gap, 0) for gap, _ in rows]
    personas = [persona for _, persona in rows]
    found, turned = (paired_difference(*sides, personas, draws=10) for sides in ((a, b), (b, a)))
    assert -1 <= found.low <= found.difference <= found.high <= 1
    assert (turned.difference, turned.low, turned.high) == pytest.approx((-found.difference, -found.high, -found.low))


def test_a_difference_of_parts_that_add_up_to_nothing_is_exactly_nothing():
    # .1 + .2 - .3 leaves 5.6e-17 in floating point
    found = paired_difference([0.1, 0.2, 0.0], [0.0, 0.0, 0.3], "abc")
    assert found.difference == 0


@pytest.mark.parametrize(("discordant", "truth"), [(0.02, 0.0), (0.05, 0.02), (0.3, 0.1)])
def test_the_interval_of_a_difference_covers_the_truth_also_where_pairs_rarely_differ(discordant, truth):
    rng = np.random.default_rng(4)
    better, worse = (discordant + truth) / 2, (discordant - truth) / 2
    personas = np.repeat(np.arange(30), 4).tolist()
    covered = 0
    for _ in range(500):
        drawn = rng.random(120)
        a, b = drawn < better, (drawn >= better) & (drawn < better + worse)
        found = paired_difference(a.astype(float).tolist(), b.astype(float).tolist(), personas, draws=10)
        covered += found.low <= truth <= found.high
    assert covered / 500 >= 0.93


def test_the_interval_of_a_count_follows_the_formula_by_hand():
    # Three personas with counts 2 0, 1 0, 0 0: mean .5; residual sums 1, 0, -1: 3/2 * 2 / 36 = .083333
    # independent values: (2.25 + .25 + .25 + .25 + .25 + .25) / 5 / 6 = .116667 is more; n* = .5 / .116667 = 4.285714
    # t(2) = 4.30265, t^2 = 18.51282; centre .5 + 18.51282 / (2 * 4.285714) = 2.659829
    # half 4.30265 * sqrt(.5 / 4.285714 + 18.51282 / (4 * 4.285714^2)) = 2.612408 (root .607162)
    found = clustered_count([2, 0, 1, 0, 0, 0], list("aabbcc"))
    assert (found.mean, found.n) == (0.5, 6)
    assert (found.low, found.high) == pytest.approx((0.047421, 5.272237), abs=2e-5)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12))
def test_a_share_of_counted_values_is_the_mean_of_the_values(counts):
    values = [(value, persona) for persona, (ones, zeros) in enumerate(counts) for value in [1] * ones + [0] * zeros]
    whole = clustered_mean([value for value, _ in values], [persona for _, persona in values])
    found = clustered_share([ones for ones, _ in counts], [ones + zeros for ones, zeros in counts])
    assert found.n == whole.n
    if found.n:
        assert (found.mean, found.low, found.high) == pytest.approx((whole.mean, whole.low, whole.high))


def test_no_count_at_all_leaves_room_above_and_one_persona_bounds_nothing():
    # 0 of 27 in nine personas: n* = 27, t(8)^2 = 5.31765; high = 5.31765 / 27 = .196950
    none = clustered_count([0] * 27, [task // 3 for task in range(27)])
    assert (none.mean, none.low, none.high) == (0, 0, pytest.approx(0.19695, abs=1e-5))
    assert clustered_count([3, 1], "aa") == Measure(2.0, 0.0, None, 2)
    assert clustered_count([None], "a") == Measure(None, None, None, 0)
    with pytest.raises(ValueError, match="below 0"):
        clustered_count([-1], "a")


def test_pairs_with_a_missing_side_are_left_out():
    result = paired_difference([1, None, 1], [0, 1, None], "abc")
    assert (result.difference, result.n) == (1, 1)
    assert not result.distinguishable  # one persona


def test_no_common_item_has_no_difference():
    result = paired_difference([None], [1], "a")
    assert (result.difference, result.p, result.n) == (None, None, 0)
    with pytest.raises(ValueError, match="got 1 and 2"):
        paired_difference([1], [1, 0], "a")


def test_sign_flip_rejects_a_true_null_about_one_time_in_twenty():
    rng = np.random.default_rng(8)
    personas = np.repeat(np.arange(30), 4).tolist()
    rejected = 0
    for _ in range(400):
        a, b = (rng.random(120) < 0.6).astype(float).tolist(), (rng.random(120) < 0.6).astype(float).tolist()
        rejected += paired_difference(a, b, personas, draws=500).distinguishable
    assert rejected / 400 <= 0.08


def test_holm_multiplies_by_what_is_left():
    # sorted .01 * 4 = .04, .02 * 3 = .06, .03 * 2 = .06, .04 * 1 = .04 -> raised to .06
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]
