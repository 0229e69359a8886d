import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.scoring.intervals import wilson
from bench.scoring.ppi import mean_interval

Z = 1.959964


def simulate(pass_rate, right_on_pass, right_on_fail, n, rest, draws, seed):
    """Share of intervals that hold the truth, their mean width, and the mean width of humans alone (Wald)."""
    rng = np.random.default_rng(seed)
    truth = rng.random((draws, n + rest)) < pass_rate
    correct = rng.random(truth.shape) < np.where(truth, right_on_pass, right_on_fail)
    ai = np.where(correct, truth, ~truth).astype(float)
    human = truth.astype(float)
    bounds = np.array([mean_interval(h[:n], a[:n], a[n:])[1:] for h, a in zip(human, ai, strict=True)])
    covered = ((bounds[:, 0] <= pass_rate) & (pass_rate <= bounds[:, 1])).mean()
    alone = 2 * Z * (human[:, :n].std(axis=1, ddof=1) / np.sqrt(n)).mean()
    return covered, (bounds[:, 1] - bounds[:, 0]).mean(), alone


@pytest.mark.parametrize(
    ("pass_rate", "right_on_pass", "right_on_fail"),
    [(0.7, 0.9, 0.8), (0.5, 0.95, 0.95), (0.6, 0.5, 0.5), (0.8, 0.95, 0.6)],
    ids=["good judge", "very good judge", "coin", "lenient judge"],
)
def test_interval_covers_the_truth_95_times_of_100_and_is_no_wider_than_humans_alone(
    pass_rate, right_on_pass, right_on_fail
):
    covered, width, alone = simulate(pass_rate, right_on_pass, right_on_fail, n=100, rest=1000, draws=2000, seed=2)
    assert 0.935 <= covered <= 0.965
    assert width <= alone


def test_a_biased_judge_does_not_bias_the_estimate():
    rng = np.random.default_rng(6)
    truth = rng.random(20_000) < 0.5
    ai = np.where(truth, True, rng.random(20_000) < 0.4).astype(float)  # passes 40% of the failures
    human = truth.astype(float)
    estimate, low, high = mean_interval(human[:4000], ai[:4000], ai[4000:])
    assert ai.mean() > 0.68
    assert low < 0.5 < high
    assert abs(estimate - 0.5) < 0.02


def test_estimate_follows_the_formula_by_hand():
    # y = 1 1 0 0, f = 1 0 0 0, rest = 1 1 0 0 (n = N = 4).
    # cov(y, f) = (.5*.75 + .5*-.25 + -.5*-.25 + -.5*-.25) / 3 = .5 / 3 = .16667
    # f over both: 3 ones of 8, variance = 8 * .375 * .625 / 7 = .26786
    # lambda = .16667 / (2 * .26786) = .31111
    # estimate = .31111 * .5 + (.5 - .31111 * .25) = .57778
    estimate, _, _ = mean_interval([1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0])
    assert estimate == pytest.approx(0.57778, abs=5e-6)


def test_without_rest_it_is_the_interval_of_the_humans():
    # sample variance 10/9 p(1-p) / 10: effective n = 9
    assert mean_interval([1] * 7 + [0] * 3, [1] * 10, []) == pytest.approx((0.7, *wilson(0.7, 9, Z)), abs=1e-6)


def test_constant_verdicts_still_leave_room_for_doubt():
    estimate, low, high = mean_interval([1] * 20, [1] * 20, [1] * 500)
    assert (estimate, high) == (1, 1)
    assert 0.8 < low < 0.9
    assert mean_interval([1] * 20, [0] * 20, [0] * 500) == (estimate, low, high)


def test_a_judge_who_is_always_opposite_is_not_used():
    opposite = mean_interval([1, 0] * 20, [0, 1] * 20, [1, 0, 0] * 100)
    assert opposite == mean_interval([1, 0] * 20, [0, 1] * 20, [])


def test_no_human_verdict_is_an_error_that_names_the_remedy():
    with pytest.raises(ValueError, match="audit slice"):
        mean_interval([], [], [1, 0])


def test_other_faults_are_named():
    with pytest.raises(ValueError, match="same items"):
        mean_interval([1], [1, 0], [1])
    with pytest.raises(ValueError, match=r"ai_on_rest holds 0\.5"):
        mean_interval([1], [1], [0.5])
    with pytest.raises(ValueError, match="human holds nan"):
        mean_interval([float("nan")], [1], [1])


def test_a_higher_confidence_is_wider():
    sample = ([1, 0, 1, 1], [1, 0, 1, 0], [1, 0] * 20)
    assert mean_interval(*sample, confidence=0.99)[1] < mean_interval(*sample)[1]


bits = st.integers(0, 1)


@given(st.lists(st.tuples(bits, bits), min_size=1, max_size=20), st.lists(bits, max_size=20))
def test_estimate_lies_in_its_interval_and_all_in_range(pairs, rest):
    estimate, low, high = mean_interval([y for y, _ in pairs], [f for _, f in pairs], rest)
    assert 0 <= low <= estimate <= high <= 1
