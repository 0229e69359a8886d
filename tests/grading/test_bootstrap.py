import numpy as np
import pytest

from bench.statistics.agreement import gwet_ac1
from bench.statistics.bootstrap import agreement_interval, cluster_bootstrap

PERSONAS = [f"p{i // 5}" for i in range(100)]
RNG = np.random.default_rng(4)
FIRST = RNG.choice(["pass", "fail"], size=100, p=[0.8, 0.2]).tolist()
SECOND = [value if RNG.random() < 0.85 else "fail" for value in FIRST]


def ac1_of(items):
    return gwet_ac1([[FIRST[i] for i in items], [SECOND[i] for i in items]]).value


def test_interval_holds_the_value_and_repeats_for_a_seed():
    interval = cluster_bootstrap(ac1_of, PERSONAS, draws=300, seed=7)
    assert interval.low < ac1_of(range(100)) < interval.high
    assert interval == cluster_bootstrap(ac1_of, PERSONAS, draws=300, seed=7)
    assert interval.draws == 300


def test_fast_path_gives_about_the_interval_of_the_general_one():
    slow = cluster_bootstrap(ac1_of, PERSONAS, draws=2000, seed=1)
    fast = agreement_interval("ac1", [FIRST, SECOND], PERSONAS, draws=2000, seed=2)
    assert (fast.low, fast.high) == pytest.approx((slow.low, slow.high), abs=0.03)


def test_items_that_move_together_widen_the_interval():
    agree = [i < 50 for i in range(100)]
    ratings = [["pass"] * 100, ["pass" if a else "fail" for a in agree]]
    alone = agreement_interval("raw", ratings, list(range(100)))
    together = agreement_interval("raw", ratings, [i // 10 for i in range(100)])
    assert together.high - together.low > 2 * (alone.high - alone.low)


def test_one_persona_or_none_has_no_interval():
    assert cluster_bootstrap(len, ["p"] * 4).reason == "undefined because there is one persona"
    assert agreement_interval("ac1", [[], []], []).reason == "undefined because there is no persona"


def test_draws_without_a_value_are_counted_and_explained():
    interval = cluster_bootstrap(lambda items: None, PERSONAS, draws=20)
    assert (interval.low, interval.draws) == (None, 0)
    assert interval.reason == "undefined because only 0 of 20 draws have a value"


def test_one_category_has_no_interval_for_alpha_and_an_exact_one_for_ac1():
    ratings = [["pass"] * 100] * 2
    assert agreement_interval("alpha", ratings, PERSONAS, draws=50).low is None
    assert agreement_interval("ac1", ratings, PERSONAS, draws=50).low == 1


@pytest.mark.parametrize("name", ["raw", "ac1", "alpha", "cohen", "fleiss"])
def test_every_coefficient_has_an_interval(name):
    interval = agreement_interval(name, [FIRST, SECOND], PERSONAS, draws=200)
    assert -1 <= interval.low <= interval.high <= 1


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="no coefficient 'pi'"):
        agreement_interval("pi", [FIRST, SECOND], PERSONAS)
    with pytest.raises(ValueError, match="3 clusters for 100 items"):
        agreement_interval("ac1", [FIRST, SECOND], [1, 2, 3])
