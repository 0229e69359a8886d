import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as students_t

from bench.statistics.intervals import clustered_mean, wilson
from bench.statistics.ppi import mean_interval

DRAWS = 2000


def alone(human, personas=None):
    """The interval of the humans without any AI."""
    return clustered_mean(human, personas or list(range(len(human))))


def simulate(pass_rate, right_on_pass, right_on_fail, n, rest=1000, seed=2):
    """Share of intervals that hold the truth, their mean width, and the mean width of humans alone."""
    rng = np.random.default_rng(seed)
    truth = rng.random((DRAWS, n + rest)) < pass_rate
    correct = rng.random(truth.shape) < np.where(truth, right_on_pass, right_on_fail)
    ai = np.where(correct, truth, ~truth).astype(float)
    human = truth.astype(float)
    bounds = np.array([mean_interval(h[:n], a[:n], a[n:])[1:] for h, a in zip(human, ai, strict=True)])
    humans = np.array([(m.low, m.high) for m in (alone(h[:n].tolist()) for h in human)])
    covered = ((bounds[:, 0] <= pass_rate) & (pass_rate <= bounds[:, 1])).mean()
    return covered, np.diff(bounds).mean(), np.diff(humans).mean()


@pytest.mark.parametrize(
    ("pass_rate", "right_on_pass", "right_on_fail"),
    [(0.7, 0.9, 0.8), (0.5, 0.95, 0.95), (0.6, 0.5, 0.5), (0.8, 0.95, 0.6)],
    ids=["good judge", "very good judge", "coin", "lenient judge"],
)
def test_interval_covers_the_truth_95_times_of_100_and_is_no_wider_than_humans_alone(
    pass_rate, right_on_pass, right_on_fail
):
    covered, width, humans = simulate(pass_rate, right_on_pass, right_on_fail, n=100)
    assert 0.935 <= covered <= 0.965
    assert width <= humans


@pytest.mark.parametrize("n", [20, 30, 50])
@pytest.mark.parametrize(
    ("pass_rate", "right"), [(0.7, 0.98), (0.9, 0.99), (0.8, 0.9)], ids=["near perfect", "nearer", "good"]
)
def test_a_small_sample_whose_judge_hardly_errs_covers_too_often_rather_than_too_seldom(n, pass_rate, right):
    covered, width, humans = simulate(pass_rate, right, right, n=n)
    assert covered >= 0.945
    assert width < 0.9 * humans


def simulate_personas(personas, each, share, likeness, seed=3):
    """Coverage of a pass rate of 0.7 with and without the personas; their pass rates and judges differ."""
    rng = np.random.default_rng(seed)
    k = (1 - likeness) / likeness
    persona = np.repeat(np.arange(personas), each)
    held, held_without = 0, 0
    for _ in range(1000):
        rate, right, caught = (rng.beta(p * k, (1 - p) * k, personas)[persona] for p in (0.7, 0.9, 0.8))
        truth = rng.random(len(persona)) < rate
        correct = rng.random(len(persona)) < np.where(truth, right, caught)
        human, ai = truth.astype(float), np.where(correct, truth, ~truth).astype(float)
        graded = rng.random(len(persona)) < share
        sample = (human[graded], ai[graded], ai[~graded])
        _, low, high = mean_interval(
            *sample, human_clusters=persona[graded].tolist(), rest_clusters=persona[~graded].tolist()
        )
        held += low <= 0.7 <= high
        _, low, high = mean_interval(*sample)
        held_without += low <= 0.7 <= high
    return held / 1000, held_without / 1000


@pytest.mark.parametrize(
    ("personas", "each", "share"), [(100, 25, 0.1), (40, 25, 0.1), (27, 8, 0.2)], ids=["large", "middle", "starter"]
)
def test_tasks_of_one_persona_that_are_alike_do_not_break_the_coverage(personas, each, share):
    with_personas, without = simulate_personas(personas, each, share, likeness=0.2)
    assert 0.93 <= with_personas <= 0.97
    assert without < with_personas - 0.02


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
    # sample variance 10/9 p(1-p) / 10: effective n = 9, and nine degrees of freedom
    expected = wilson(0.7, 9, students_t.ppf(0.975, 9))
    assert mean_interval([1] * 7 + [0] * 3, [1] * 10, []) == pytest.approx((0.7, *expected), abs=1e-6)


def test_the_interval_by_hand_with_the_guard_for_few_disagreements():
    # As above, n = 4: y - f has one disagreement, under five, so half an observation joins each cell: n = 6.
    # y - .31111 f = .68889 1 0 0, mean .42222; squares of the residuals .07111 .33383 .17827 .17827, sum .76148
    # the rest, .31111 * (1 1 0 0 - .5) / 4: four squares of .03889^2, sum .00605
    # pseudo: residuals of .68889, 1, -.31111, 0 from .42222: .07111 .33383 .53778 .17827, half of their sum .56049
    # variance = 4/3 * (.76148 / 36 + .00605) + .56049 / 36 = .05184; effective = .57778 * .42222 / .05184 = 4.706
    _, low, high = mean_interval([1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0])
    assert (low, high) == pytest.approx(wilson(0.57778, 4.706, students_t.ppf(0.975, 3)), abs=1e-4)


def test_personas_of_one_item_each_change_nothing():
    sample = ([1, 0, 1, 1, 0, 1], [1, 0, 1, 0, 0, 1], [1, 0, 0, 1])
    assert mean_interval(*sample, human_clusters=list("abcdef"), rest_clusters=list("ghij")) == mean_interval(*sample)


def test_copies_of_an_item_in_one_persona_do_not_narrow_the_interval():
    y, f, rest = [1, 0, 1, 1, 0, 1] * 4, [1, 0, 1, 0, 0, 0] * 4, [1, 0, 0, 1] * 5
    once = mean_interval(y, f, rest)
    copied = mean_interval(y * 3, f * 3, rest * 3, human_clusters=[*range(24)] * 3, rest_clusters=[*range(24, 44)] * 3)
    assert copied == pytest.approx(once, abs=1e-3)  # lambda looks at items, so it moves a little
    narrow = mean_interval(y * 3, f * 3, rest * 3)
    assert narrow[2] - narrow[1] < 0.7 * (once[2] - once[1])


def test_one_persona_says_nothing_of_others():
    one = {"human_clusters": ["p"] * 4, "rest_clusters": ["p"] * 2}
    assert mean_interval([1, 0, 1, 1], [1, 0, 1, 0], [1, 0], **one) == (0.75, 0, 1)


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
    with pytest.raises(ValueError, match="1 and 0 clusters for 1 and 1 items"):
        mean_interval([1], [1], [0], human_clusters=["p"])
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


@given(st.lists(st.tuples(bits, bits, st.integers(0, 5)), min_size=1, max_size=30), st.lists(bits, max_size=30))
def test_it_is_never_wider_than_the_humans_alone(pairs, rest):
    human, personas = [y for y, _, _ in pairs], [p for _, _, p in pairs]
    found = mean_interval(
        human, [f for _, f, _ in pairs], rest, human_clusters=personas, rest_clusters=[n % 6 for n in range(len(rest))]
    )
    humans = alone(human, personas)
    assert found[2] - found[1] <= humans.high - humans.low + 1e-12
