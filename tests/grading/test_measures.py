import pytest

from bench.grading.types import VerdictValue
from bench.results.measures import Coverage, TrajectoryScores, product_of_rates, trajectory_scores

P, F, C = VerdictValue.PASS, VerdictValue.FAIL, VerdictValue.CANNOT_JUDGE


def test_shares_of_both_kinds_and_all_pass():
    assert trajectory_scores([P, P], [P, F, F, P]) == TrajectoryScores(1, 0.5, 0)
    assert trajectory_scores([P], [P]) == TrajectoryScores(1, 1, 1)


@pytest.mark.parametrize("unscored", [None, C])
def test_an_unscored_checkpoint_is_not_a_zero(unscored):
    assert trajectory_scores([P], [F, unscored]) == TrajectoryScores(1, None, None)


def test_no_checkpoint_passes_nothing():
    assert trajectory_scores([], []) == TrajectoryScores(None, None, None)


def test_no_headline_under_95_percent_coverage():
    assert Coverage(100, 95).headline
    assert not Coverage(100, 94).headline
    assert not Coverage(0, 0).headline


def test_product_of_rates():
    assert product_of_rates([0.9, 0.8, 0.5]) == pytest.approx(0.36)
