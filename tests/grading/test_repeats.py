import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.statistics.intervals import clustered_mean
from bench.statistics.repeats import mean_at_k, over_tasks, pass_at_k, pass_hat_k


def test_pass_at_k_by_hand():
    # 5 trials, 2 right: 1 - C(3,2)/C(5,2) = 1 - 3/10
    assert pass_at_k(5, 2, 2) == pytest.approx(0.7)
    assert pass_at_k(5, 2, 1) == pytest.approx(0.4)


def test_pass_hat_k_by_hand():
    # 5 trials, 3 right: C(3,2)/C(5,2) = 3/10
    assert pass_hat_k(5, 3, 2) == pytest.approx(0.3)
    assert pass_hat_k(5, 3, 1) == pytest.approx(0.6)
    assert pass_hat_k(5, 3, 4) == 0


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.integers(1, 7))
def test_both_equal_the_share_of_all_draws_of_k_trials(trials, k):
    n, c = len(trials), sum(trials)
    if n < k:
        assert pass_at_k(n, c, k) is pass_hat_k(n, c, k) is None
        return
    draws = list(itertools.combinations(trials, k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, draws)) / len(draws))
    assert pass_hat_k(n, c, k) == pytest.approx(sum(map(all, draws)) / len(draws))


@pytest.mark.parametrize("arguments", [(3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_impossible_counts_are_refused(arguments):
    for measure in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError, match="is right"):
            measure(*arguments)


def test_over_tasks_averages_tasks():
    # task 1: 2 of 2; task 2: 1 of 2. mean (1 + .5)/2; pass@2 (1 + 1)/2; pass^2 (1 + 0)/2
    found = over_tasks([[True, True], [True, False]], "ab", 2)
    assert (found.mean_at_k.mean, found.pass_at_k.mean, found.pass_hat_k.mean) == (0.75, 1.0, 0.5)
    assert (found.k, found.tasks, found.reason) == (2, 2, None)


def test_repeats_have_the_interval_of_their_tasks_by_persona():
    trials = [[True, True], [True, False], [False, False], [True, True]]
    found = over_tasks(trials, "aabb", 2)
    # of each task c / 2; C(c, 2) / C(2, 2); 1 - C(2 - c, 2) / C(2, 2)
    assert found.mean_at_k == clustered_mean([1, 0.5, 0, 1], "aabb")
    assert found.pass_hat_k == clustered_mean([1, 0, 0, 1], "aabb")
    assert found.pass_at_k == clustered_mean([1, 1, 0, 1], "aabb")
    assert found.to_json()["pass_hat_k"].keys() == {"mean", "low", "high", "n"}


def test_missing_trials_withhold_all_three_and_say_how_many():
    result = over_tasks([[True, None], [True, False]], "ab", 2)
    assert (result.mean_at_k.mean, result.pass_at_k.mean, result.pass_hat_k.mean) == (None, None, None)
    assert result.reason == "1 of 2 tasks have fewer than 2 scored trials"
    assert over_tasks([], [], 1).reason == "there are no tasks"
    with pytest.raises(ValueError, match="k is 0"):
        over_tasks([], [], 0)


def test_mean_at_k_needs_k_scored_trials():
    assert mean_at_k([True, False, None], 2) == 0.5
    assert mean_at_k([True, None], 2) is None
