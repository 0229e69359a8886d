"""How far raters agree, corrected for chance, with conventions for every edge.

``ratings`` is always a sequence of raters, each a sequence over the same
items, of category names or None for missing (blank text and NaN are missing
too), or the same as ``Coded``. Categories are nominal. A missing rating is
never agreement.

Every coefficient is a function of sums over items, so that a bootstrap adds
up per-cluster sums and never walks the items again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import krippendorff
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Coded:
    """Ratings as numbers. ``codes``: (raters, items), an index into ``names`` or -1 for missing."""

    codes: Codes
    names: tuple[Hashable, ...]


Ratings = Sequence[Sequence[Hashable | None]] | Coded


@dataclass(frozen=True, slots=True)
class Agreement:
    """A coefficient, or None and the reason why there is none. ``n``: items that counted."""

    value: float | None
    reason: str | None
    n: int


@dataclass(frozen=True, slots=True)
class _Coefficient:
    """``terms``: from codes (raters, items) the numbers to add up (items, m).

    ``value``: from their sums (..., m) the coefficient (...). Both take q.
    """

    terms: Callable[[Codes, int], Floats]
    value: Callable[[Floats, int], Floats]


def raw_agreement(ratings: Ratings) -> Agreement:
    """Share (0..1) of rater pairs that agree, averaged over the items with two or more ratings."""
    return _evaluate("raw", ratings)


def gwet_ac1(ratings: Ratings, categories: Sequence[Hashable] | None = None) -> Agreement:
    """Gwet's AC1, -1..1. Two or more raters, missing ratings allowed.

    pa over items with two or more ratings; category shares over all items
    with a rating; pe = sum(pi (1 - pi)) / (q - 1). ``q`` counts the categories
    seen, or ``categories`` where given, and never falls below 2, so that
    unanimity in one category is 1. Gwet 2008, Br. J. Math. Stat. Psychol. 61;
    missing ratings: Gwet 2014, Handbook of Inter-Rater Reliability, 4th ed.
    """
    return _evaluate("ac1", ratings, categories)


def fleiss_kappa(ratings: Ratings) -> Agreement:
    """Fleiss' kappa, -1..1, in Gwet's (2014) extension to missing ratings. Fleiss 1971, Psychol. Bull. 76.

    Undefined where every rating is in one category: expected agreement is 1.
    Can fall below -1 where items with a single rating set the category shares.
    """
    return _evaluate("fleiss", ratings)


def cohen_kappa(ratings: Ratings) -> Agreement:
    """Cohen's kappa, -1..1, for two raters over the items that both rated.

    Cohen 1960, Educ. Psychol. Meas. 20.

    Undefined where both raters use one and the same category only. Raises
    ValueError for three or more raters.
    """
    coded = encode(ratings)
    if len(coded.codes) > 2:
        raise ValueError(f"Cohen's kappa takes two raters, got {len(coded.codes)}; use fleiss_kappa for more")
    return _evaluate("cohen", coded)


def krippendorff_alpha(ratings: Ratings) -> Agreement:
    """Krippendorff's alpha, nominal, -1..1 (1 is perfect, 0 is chance).

    Items with one rating are not pairable and are left out. Undefined where
    all pairable ratings are in one category. Krippendorff 2011, "Computing
    Krippendorff's Alpha-Reliability"; computed by the package of that name.
    """
    coded = encode(ratings)
    codes = coded.codes
    counts = _counts(codes, len(coded.names))
    pairable = counts[counts.sum(axis=1) >= 2]
    if not len(pairable):
        return Agreement(None, _why_uncountable(codes), 0)
    if np.count_nonzero(pairable.sum(axis=0)) < 2:
        return Agreement(None, "undefined because every rating is in one category", len(pairable))
    value = krippendorff.alpha(value_counts=pairable.astype(np.int64), level_of_measurement="nominal")
    return Agreement(float(value), None, len(pairable))


def prevalence(ratings: Ratings, category: Hashable) -> Agreement:
    """Share (0..1) of ratings in ``category``: the mean over rated items of their share."""
    coded = encode(ratings)
    counts = _counts(coded.codes, len(coded.names))
    given = counts.sum(axis=1)
    rated = given > 0
    if not rated.any():
        return Agreement(None, "undefined because there is no rating", 0)
    if category not in coded.names:
        return Agreement(0.0, None, int(rated.sum()))
    shares = counts[rated, coded.names.index(category)] / given[rated]
    return Agreement(float(shares.mean()), None, int(rated.sum()))


def agreement_by_item(ratings: Ratings) -> list[float | None]:
    """Share of agreeing rater pairs of each item, None with fewer than two ratings; the mean is ``raw_agreement``."""
    coded = encode(ratings)
    terms = _multi_rater_terms(coded.codes, len(coded.names))
    return [float(agree) if pairable else None for agree, pairable in terms[:, :2]]


def shares_by_item(ratings: Ratings, category: int) -> list[float | None]:
    """The share of each item's ratings in a category by its number, None without one; its mean is ``prevalence``."""
    coded = encode(ratings)
    terms = _multi_rater_terms(coded.codes, len(coded.names))
    return [float(row[3 + category]) if row[2] else None for row in terms]


def _missing(rating: Hashable | None) -> bool:
    return rating is None or rating != rating or (isinstance(rating, str) and not rating.strip())


def encode(ratings: Ratings) -> Coded:
    """The ratings as numbers, the categories in order of appearance."""
    if isinstance(ratings, Coded):
        return ratings
    lengths = [len(rater) for rater in ratings]
    if len(set(lengths)) > 1:
        raise ValueError(f"every rater needs one entry an item (None for missing); got lengths {lengths}")
    number: dict[Hashable, int] = {}
    codes = [[-1 if _missing(r) else number.setdefault(r, len(number)) for r in rater] for rater in ratings]
    shape = len(ratings), lengths[0] if lengths else 0
    return Coded(np.array(codes, dtype=np.int64).reshape(shape), tuple(number))


def _counts(codes: Codes, q: int) -> Floats:
    """(items, q): how many raters put the item in each category."""
    counts = [(codes == k).sum(axis=0) for k in range(q)]
    return np.stack(counts, axis=1).astype(float) if q else np.zeros((codes.shape[1], 0))


def _why_uncountable(codes: Codes) -> str:
    if codes.shape[0] < 2:
        return f"undefined because there is {'one rater' if len(codes) else 'no rater'}"
    return f"undefined because {'no item has two ratings' if codes.shape[1] else 'there is no item'}"


def _evaluate(name: str, ratings: Ratings, categories: Sequence[Hashable] | None = None) -> Agreement:
    coded = encode(ratings)
    codes, names = coded.codes, coded.names
    if categories is not None and (unknown := [n for n in names if n not in categories]):
        raise ValueError(f"ratings hold {unknown}, which is not among the categories {list(categories)}")
    n = int(((codes >= 0).sum(axis=0) >= 2).sum())
    if not n:
        return Agreement(None, _why_uncountable(codes), 0)
    q = len(categories) if categories is not None else len(names)
    coefficient = COEFFICIENTS[name]
    value = float(coefficient.value(coefficient.terms(codes, len(names)).sum(axis=0), q))
    if not np.isfinite(value):
        return Agreement(None, "undefined because every rating is in one category", n)
    return Agreement(value, None, n)


def _multi_rater_terms(codes: Codes, q: int) -> Floats:
    """Columns: agreeing share of pairs, 1 where pairable, 1 where rated, then the share of each category."""
    counts = _counts(codes, q)
    given = counts.sum(axis=1)
    pairs = given * (given - 1)
    agree = np.divide((counts * (counts - 1)).sum(axis=1), pairs, out=np.zeros(len(given)), where=pairs > 0)
    shares = np.divide(counts, given[:, None], out=np.zeros(counts.shape), where=given[:, None] > 0)
    return np.column_stack([agree, pairs > 0, given > 0, shares])


def _raw_value(sums: Floats, q: int) -> Floats:
    return _ratio(sums[..., 0], sums[..., 1])


def _ac1_value(sums: Floats, q: int) -> Floats:
    shares = _ratio(sums[..., 3:], sums[..., 2:3])
    expected: Floats = (shares * (1 - shares)).sum(axis=-1) / (max(q, 2) - 1)
    return _beyond_chance(_raw_value(sums, q), expected)


def _fleiss_value(sums: Floats, q: int) -> Floats:
    shares = _ratio(sums[..., 3:], sums[..., 2:3])
    return _beyond_chance(_raw_value(sums, q), (shares**2).sum(axis=-1))


def _cohen_terms(codes: Codes, q: int) -> Floats:
    """The flattened q x q table of what the two raters said, one item a row."""
    first, second = codes
    table = np.zeros((codes.shape[1], q * q))
    both = np.flatnonzero((first >= 0) & (second >= 0))
    table[both, first[both] * q + second[both]] = 1
    return table


def _cohen_value(sums: Floats, q: int) -> Floats:
    table = sums.reshape(*sums.shape[:-1], q, q)
    total = table.sum(axis=(-2, -1))
    chance = (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1)
    return _beyond_chance(_ratio(table.trace(axis1=-2, axis2=-1), total), _ratio(chance, total**2))


def _alpha_terms(codes: Codes, q: int) -> Floats:
    """Columns: the sum of the coincidence matrix's diagonal, then the pairable ratings by category."""
    counts = _counts(codes, q)
    given = counts.sum(axis=1)
    pairable = np.where(given >= 2, 1.0, 0.0)
    matches = (counts * (counts - 1)).sum(axis=1) / np.maximum(given - 1, 1)
    return np.column_stack([matches, counts * pairable[:, None]])


def _alpha_value(sums: Floats, q: int) -> Floats:
    by_category = sums[..., 1:]
    n = by_category.sum(axis=-1)
    disagreement = _ratio(n - sums[..., 0], n**2 - (by_category**2).sum(axis=-1))
    alpha: Floats = 1 - (n - 1) * disagreement
    return alpha


def _ratio(top: Floats, bottom: Floats) -> Floats:
    """NaN where the denominator is 0; callers turn it into a reason."""
    quotient: Floats = np.full(np.broadcast(top, bottom).shape, np.nan)
    np.divide(top, bottom, out=quotient, where=bottom != 0)
    return quotient


def _beyond_chance(observed: Floats, expected: Floats) -> Floats:
    return _ratio(observed - expected, np.where(np.isclose(expected, 1), 0.0, 1 - expected))


COEFFICIENTS = {
    "raw": _Coefficient(_multi_rater_terms, _raw_value),
    "ac1": _Coefficient(_multi_rater_terms, _ac1_value),
    "fleiss": _Coefficient(_multi_rater_terms, _fleiss_value),
    "cohen": _Coefficient(_cohen_terms, _cohen_value),
    "alpha": _Coefficient(_alpha_terms, _alpha_value),
}
