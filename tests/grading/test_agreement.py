"""Golden values come from published tables; the arithmetic stands beside each."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.statistics.agreement import (
    COEFFICIENTS,
    Agreement,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    prevalence,
    raw_agreement,
)

N = None
# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", 4 observers and 12 units;
# also Gwet 2014, Handbook, 4th ed., p. 120, and the data set cac.raw4raters of his irrCAC.
TWELVE_UNITS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, N],
    [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 3],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
]
# Fleiss 1971, Psychological Bulletin 76, table 1: 30 patients, 6 psychiatrists, 5 diagnoses.
FLEISS = [
    "00060", "03003", "01401", "00006", "03030", "20400", "00402", "20310", "20040", "00006",
    "10050", "11040", "03300", "10050", "02031", "00501", "30012", "51000", "02040", "10203",
    "00006", "01050", "02013", "20040", "10041", "05010", "40002", "02040", "10500", "00006",
]  # fmt: skip


def from_counts(rows):
    """Six anonymous raters from the number of votes in each category."""
    items = [[category for category, n in enumerate(row) for _ in range(int(n))] for row in rows]
    return [list(rater) for rater in zip(*items, strict=True)]


def from_table(table):
    """Two raters from a contingency table: rows are the first rater's categories."""
    pairs = [(i, j) for i, row in enumerate(table) for j, n in enumerate(row) for _ in range(n)]
    return [[i for i, _ in pairs], [j for _, j in pairs]]


ABSTRACTORS = from_table([[13, 0, 0], [0, 20, 7], [0, 4, 56]])  # Gwet 2014; cont3x3abstractors in irrCAC
PARADOX = from_table([[80, 10], [5, 5]])  # Feinstein and Cicchetti 1990, J. Clin. Epidemiol. 43: kappa .32


def test_raw_agreement_of_the_twelve_units_is_9_of_11():
    # Items 2 and 8 have 3 of 6 pairs agreeing, item 6 none, the eight others all; item 12 has one rating.
    # (8 + 0.5 + 0.5 + 0) / 11 = 0.81818
    assert raw_agreement(TWELVE_UNITS) == Agreement(pytest.approx(9 / 11), None, 11)


def test_ac1_of_the_twelve_units_is_gwets_0_77544():
    # Category shares over 12 items: 3, 3.25, 3.5, 1.25, 1 of 12 = .25, .27083, .29167, .10417, .08333
    # pe = (.1875 + .19748 + .20660 + .09332 + .07639) / 4 = .19032; (.81818 - .19032) / (1 - .19032) = .77544
    assert gwet_ac1(TWELVE_UNITS) == Agreement(pytest.approx(0.77544, abs=5e-6), None, 11)


def test_fleiss_kappa_of_the_twelve_units_is_gwets_0_76117():
    # pe = .25^2 + .27083^2 + .29167^2 + .10417^2 + .08333^2 = .23872; (.81818 - .23872) / .76128 = .76117
    assert fleiss_kappa(TWELVE_UNITS).value == pytest.approx(0.76117, abs=5e-6)


def test_alpha_of_the_twelve_units_is_krippendorffs_0_743():
    # 40 pairable ratings, 9, 13, 10, 5 and 3 by category; coincidence diagonal 3+2+4+4+4+0+4+2+4+3+2 = 32.
    # 1 - 39 * (40 - 32) / (40^2 - (81 + 169 + 100 + 25 + 9)) = 1 - 312 / 1216 = .74342
    assert krippendorff_alpha(TWELVE_UNITS) == Agreement(pytest.approx(0.74342, abs=5e-6), None, 11)


def test_what_one_rater_alone_rated_counts_in_the_shares_and_not_in_the_agreement():
    # Items 1 and 2 are rated by both: pass/pass agree, pass/fail do not: pa = 1/2.
    # Items 3 and 4 are rated by one, fail each. Shares over all four: pass (1 + 1/2 + 0 + 0) / 4 = 3/8, fail 5/8.
    # AC1: pe = (3/8 * 5/8 + 5/8 * 3/8) / (2 - 1) = 15/32; (16/32 - 15/32) / (17/32) = 1/17
    # Fleiss: pe = 9/64 + 25/64 = 34/64; (32/64 - 34/64) / (30/64) = -1/15
    ratings = [["pass", "pass", "fail", N], ["pass", "fail", N, "fail"]]
    assert gwet_ac1(ratings) == Agreement(pytest.approx(1 / 17), None, 2)
    assert fleiss_kappa(ratings) == Agreement(pytest.approx(-1 / 15), None, 2)
    assert raw_agreement(ratings) == Agreement(0.5, None, 2)
    # Without them the shares are 3/4 and 1/4. AC1: pe = 3/8; (4/8 - 3/8) / (5/8) = 1/5. Fleiss: pe = 5/8; -1/3
    both = [rater[:2] for rater in ratings]
    assert gwet_ac1(both).value == pytest.approx(1 / 5)
    assert fleiss_kappa(both).value == pytest.approx(-1 / 3)


def test_fleiss_1971_example_has_kappa_0_430():
    assert fleiss_kappa(from_counts(FLEISS)) == Agreement(pytest.approx(0.430, abs=5e-4), None, 30)


def test_first_fifteen_patients_give_the_values_that_irrcac_publishes():
    ratings = from_counts(FLEISS[:15])
    assert fleiss_kappa(ratings).value == pytest.approx(0.4139265, abs=5e-8)
    assert gwet_ac1(ratings).value == pytest.approx(0.4448007, abs=5e-8)
    assert krippendorff_alpha(ratings).value == pytest.approx(0.4204384, abs=5e-8)


def test_three_by_three_table_gives_the_values_that_irrcac_publishes():
    # pa = (13 + 20 + 56) / 100 = .89
    # Cohen: pe = .13*.13 + .27*.24 + .60*.63 = .4597; (.89 - .4597) / .5403 = .79641
    # AC1: shares .13, .255, .615; pe = (.1131 + .18998 + .23678) / 2 = .26993
    #      (.89 - .26993) / .73008 = .84933
    assert raw_agreement(ABSTRACTORS).value == pytest.approx(0.89)
    assert cohen_kappa(ABSTRACTORS).value == pytest.approx(0.7964094, abs=5e-8)
    assert gwet_ac1(ABSTRACTORS).value == pytest.approx(0.8493305, abs=5e-8)
    assert krippendorff_alpha(ABSTRACTORS).value == pytest.approx(0.7972585, abs=5e-8)


def test_kappa_paradox_leaves_ac1_high():
    # pa = .85. Cohen: pe = .9*.85 + .1*.15 = .78; .07 / .22 = .31818.
    # AC1: share (90 + 85) / 200 = .875; pe = 2 * .875 * .125 = .21875; .63125 / .78125 = .808
    assert cohen_kappa(PARADOX).value == pytest.approx(0.31818, abs=5e-6)
    assert gwet_ac1(PARADOX).value == pytest.approx(0.808)


def test_cohen_leaves_out_items_that_one_rater_did_not_rate():
    padded = [[*PARADOX[0], "x", N], [*PARADOX[1], N, N]]
    assert cohen_kappa(padded) == Agreement(pytest.approx(0.31818, abs=5e-6), None, 100)


@pytest.mark.parametrize("measure", [raw_agreement, gwet_ac1, krippendorff_alpha, cohen_kappa, fleiss_kappa])
@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([], "no rater"),
        ([["pass", "fail"]], "one rater"),
        ([[], []], "no item"),
        ([["pass", N], [N, "pass"]], "no item has two ratings"),
        ([[N, N], [N, N]], "no item has two ratings"),
        ([["", " "], ["", " "]], "no item has two ratings"),
        ([[math.nan], [math.nan]], "no item has two ratings"),
    ],
)
def test_without_two_ratings_of_an_item_nothing_is_defined(measure, ratings, reason):
    result = measure(ratings)
    assert (result.value, result.n) == (None, 0)
    assert result.reason == f"undefined because there is {reason}" or result.reason == f"undefined because {reason}"


@pytest.mark.parametrize("ratings", [[["pass"] * 5, ["pass"] * 5], [["pass"], ["pass"]]])
def test_unanimity_in_one_category_is_1_for_ac1_and_undefined_for_the_others(ratings):
    assert raw_agreement(ratings).value == 1
    assert gwet_ac1(ratings).value == 1  # pe = (1 * 0) / (2 - 1) = 0
    for measure in (krippendorff_alpha, cohen_kappa, fleiss_kappa):
        assert measure(ratings) == Agreement(None, "undefined because every rating is in one category", len(ratings[0]))


def test_perfect_agreement_on_two_categories_is_1_for_all():
    ratings = [["pass", "fail", "pass"]] * 2
    for measure in (raw_agreement, gwet_ac1, krippendorff_alpha, cohen_kappa, fleiss_kappa):
        assert measure(ratings).value == pytest.approx(1)


def test_one_item_in_dispute_has_values():
    ratings = [["pass"], ["fail"]]
    assert raw_agreement(ratings).value == 0
    assert gwet_ac1(ratings).value == pytest.approx(-1)  # pe = (.25 + .25) / 1 = .5; -.5 / .5
    assert krippendorff_alpha(ratings).value == pytest.approx(0)  # 1 - 1 * 2 / (4 - 2)
    assert cohen_kappa(ratings).value == pytest.approx(0)  # pe = 0


def test_declared_categories_raise_the_number_that_ac1_divides_by():
    # shares .5 and .5; pe = .5 / (3 - 1) = .25; (.5 - .25) / .75 = 1/3
    ratings = [["a", "b"], ["a", "a"]]
    three = gwet_ac1(ratings, categories=["a", "b", "c"])
    # shares .75, .25: pe = (.1875 + .1875) / 2 = .1875; (.5 - .1875) / .8125 = .38462
    assert three.value == pytest.approx(0.38462, abs=5e-6)
    with pytest.raises(ValueError, match="not among the categories"):
        gwet_ac1(ratings, categories=["a", "c"])


def test_raters_of_different_length_are_refused():
    with pytest.raises(ValueError, match=r"lengths \[2, 1\]"):
        gwet_ac1([["a", "b"], ["a"]])


def test_cohen_refuses_three_raters():
    with pytest.raises(ValueError, match="fleiss_kappa"):
        cohen_kappa([["a"], ["a"], ["a"]])


def test_prevalence_weighs_items_not_ratings():
    # item 1: 2 of 2 pass; item 2: 0 of 1; item 3: no rating. (1 + 0) / 2
    assert prevalence([["pass", "fail", N], ["pass", N, N]], "pass") == Agreement(0.5, None, 2)
    assert prevalence([["fail"]], "pass") == Agreement(0.0, None, 1)
    assert prevalence([[N]], "pass").reason == "undefined because there is no rating"


ratings_strategy = st.integers(2, 4).flatmap(
    lambda raters: st.lists(
        st.lists(st.sampled_from(["pass", "fail", N]), min_size=raters, max_size=raters), max_size=12
    ).map(lambda items: [list(r) for r in zip(*items, strict=True)] if items else [[] for _ in range(raters)])
)


@given(ratings_strategy)
def test_every_measure_is_a_finite_number_or_has_a_reason(ratings):
    measures = [raw_agreement, gwet_ac1, krippendorff_alpha, fleiss_kappa]
    for measure in measures + ([cohen_kappa] if len(ratings) == 2 else []):
        result = measure(ratings)
        assert (result.value is None) == (result.reason is not None)
        assert result.value is None or result.value <= 1 + 1e-9
        assert result.value is None or measure is fleiss_kappa or result.value >= -1 - 1e-9


@given(ratings_strategy, st.randoms(use_true_random=False))
def test_order_of_raters_and_items_does_not_matter(ratings, random):
    items = list(zip(*ratings, strict=True))
    random.shuffle(items)
    shuffled = [list(r) for r in zip(*items, strict=True)] if items else [[] for _ in ratings]
    random.shuffle(shuffled)
    for measure in (raw_agreement, gwet_ac1, krippendorff_alpha, fleiss_kappa):
        before, after = measure(ratings), measure(shuffled)
        assert before.n == after.n
        assert before.value is None or after.value == pytest.approx(before.value)


@given(ratings_strategy)
def test_blank_items_never_change_agreement(ratings):
    padded = [[*rater, N, ""] for rater in ratings]
    for measure in (raw_agreement, gwet_ac1, krippendorff_alpha, fleiss_kappa):
        assert measure(padded).value == pytest.approx(measure(ratings).value, nan_ok=False)


@given(ratings_strategy)
def test_alpha_from_sums_equals_the_package(ratings):
    from bench.statistics.agreement import encode

    packaged = krippendorff_alpha(ratings).value
    if packaged is not None:
        coded, alpha = encode(ratings), COEFFICIENTS["alpha"]
        q = len(coded.names)
        assert float(alpha.value(alpha.terms(coded.codes, q).sum(axis=0), q)) == pytest.approx(packaged)
