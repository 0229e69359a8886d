"""Means, counts and paired differences with 95% intervals clustered by persona. Deterministic.

All rest on the cluster-robust variance of a mean (CR1, as for a regression on
a constant), never below that of independent values. Shares and counts put it
into a score interval as an effective number of observations; differences add
two observations to the sample. No interval leaves the range of its values or
collapses where nothing varies, and one success more never lowers an upper
bound. No draws are needed. docs/scoring.md gives the formulas.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

Floats = npt.NDArray[np.float64]
ROUNDING = 1e-12  # a sum of parts of one that is nearer to 0 is 0


class MeasureJson(TypedDict):
    mean: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Measure:
    """A mean with its interval; all None where n is 0. ``n``: scored values."""

    mean: float | None
    low: float | None
    high: float | None
    n: int

    def to_json(self) -> MeasureJson:
        """``{"mean", "low", "high", "n"}``."""
        return MeasureJson(mean=self.mean, low=self.low, high=self.high, n=self.n)


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean of a - b over common items, -1..1; all None where n is 0. ``p``: two-sided, 0..1."""

    difference: float | None
    low: float | None
    high: float | None
    n: int
    p: float | None
    distinguishable: bool

    @property
    def words(self) -> str:
        """``"distinguishable"`` or ``"not distinguishable"``."""
        return "distinguishable" if self.distinguishable else "not distinguishable"


def clustered_mean(values: Sequence[float | None], clusters: Sequence[Hashable], confidence: float = 0.95) -> Measure:
    """Mean of the values (each 0..1) and its interval. None among ``values`` is unscored and left out.

    ``clusters[i]`` is the persona of value i. One persona alone gives the
    interval 0..1: it says nothing of others. Raises ValueError for a value
    outside 0..1 or lists of different length.
    """
    known, codes = _scored(values, clusters)
    if not len(known):
        return Measure(None, None, None, 0)
    _require_range(known, 0, 1)
    low, high = _interval(known, codes, confidence)
    return Measure(float(known.mean()), low, high, len(known))


def clustered_share(passed: Sequence[int], of: Sequence[int], confidence: float = 0.95) -> Measure:
    """``clustered_mean`` of zeros and ones that are counted already: ``passed[i]`` of the ``of[i]`` of persona i."""
    kept = [(x, n) for x, n in zip(passed, of, strict=True) if n]
    if not kept:
        return Measure(None, None, None, 0)
    x, n = np.array(kept, dtype=float).T
    total = int(n.sum())
    mean = float(x.sum()) / total
    if len(kept) < 2:
        return Measure(mean, 0.0, 1.0, total)
    squares = float(x.sum()) * (1 - mean) ** 2 + float((n - x).sum()) * mean**2
    variance = _variance(x - mean * n, squares, total)
    return Measure(mean, *_share_interval(mean, variance, total, len(kept), confidence), total)


def clustered_count(values: Sequence[float | None], clusters: Sequence[Hashable], confidence: float = 0.95) -> Measure:
    """Mean of counts (each 0 or more) and its interval, as ``clustered_mean``: the score interval of a Poisson mean.

    One persona alone gives no upper bound, so low is 0 and high None.
    """
    known, codes = _scored(values, clusters)
    if not len(known):
        return Measure(None, None, None, 0)
    if (known < 0).any():
        raise ValueError(f"value {known.min()} is below 0")
    mean, groups = float(known.mean()), int(codes.max()) + 1
    if groups < 2:
        return Measure(mean, 0.0, None, len(known))
    variance = _variance_of_mean(known, codes, mean)
    effective = mean / variance if variance > ROUNDING else float(len(known))
    t = _quantile(groups, confidence)
    centre, half = mean + t**2 / (2 * effective), t * np.sqrt(mean / effective + t**2 / (4 * effective**2))
    return Measure(mean, max(0.0, min(float(centre - half), mean)), float(centre + half), len(known))


def paired_difference(
    a: Sequence[float | None],
    b: Sequence[float | None],
    clusters: Sequence[Hashable],
    *,
    confidence: float = 0.95,
    draws: int = 10_000,
    seed: int = 0,
) -> Difference:
    """Mean of a[i] - b[i] over the items that both have scored, clustered by persona.

    One persona alone gives the interval -1..1.
    p flips the sign of whole personas: exact where all flips are at most
    ``draws``, else that many random ones, counting the observed one.
    Distinguishable needs p < 1 - confidence and an interval without 0. For
    many comparisons pass the p values to ``holm``.
    """
    if len(a) != len(b):
        raise ValueError(f"paired values need the same items; got {len(a)} and {len(b)}")
    gaps = [None if x is None or y is None else x - y for x, y in zip(a, b, strict=True)]
    known, codes = _scored(gaps, clusters)
    if not len(known):
        return Difference(None, None, None, 0, None, False)
    _require_range(known, -1, 1)
    low, high = _difference_interval(known, codes, confidence)
    p = _sign_flip_p(np.bincount(codes, known).astype(float), draws, seed)
    distinct = p < 1 - confidence and not low <= 0 <= high
    mean = float(known.mean())
    return Difference(mean if abs(mean) > ROUNDING else 0.0, low, high, len(known), p, distinct)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p values, in the order given. Holm 1979, Scand. J. Stat. 6.

    The i-th smallest (from 0) of m is multiplied by m - i, made
    non-decreasing, and cut at 1.
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, p_values[i] * (len(p_values) - rank)))
        adjusted[i] = highest
    return adjusted


def wilson(mean: float, effective_n: float, z: float) -> tuple[float, float]:
    """Wilson's score interval for a mean in 0..1 of ``effective_n`` > 0 observations. Wilson 1927, JASA."""
    shrink = 1 + z**2 / effective_n
    centre = (mean + z**2 / (2 * effective_n)) / shrink
    half = z * np.sqrt(mean * (1 - mean) / effective_n + z**2 / (4 * effective_n**2)) / shrink
    # min and max: rounding must not push a bound past the mean or out of the range
    return max(0.0, min(float(centre - half), mean)), min(1.0, max(float(centre + half), mean))


def _interval(values: Floats, codes: npt.NDArray[np.int64], confidence: float) -> tuple[float, float]:
    """Bounds in 0..1 of the mean of values in 0..1."""
    groups = int(codes.max()) + 1
    if groups < 2:
        return 0.0, 1.0
    mean = float(values.mean())
    return _share_interval(mean, _variance_of_mean(values, codes, mean), len(values), groups, confidence)


def _share_interval(mean: float, variance: float, n: int, groups: int, confidence: float) -> tuple[float, float]:
    spread = mean * (1 - mean)
    # Without any variation nothing says that a persona's values hang together. Korn and Graubard 1998, Surv. Methodol.
    effective = spread / variance if variance > ROUNDING and spread > 0 else float(n)
    return wilson(mean, effective, _quantile(groups, confidence))


def _difference_interval(gaps: Floats, codes: npt.NDArray[np.int64], confidence: float) -> tuple[float, float]:
    """Bounds in -1..1. Half a pair joins each cell of the 2 x 2 table of pass and fail: +1, -1, and 0 twice.

    So pairs that never differ have a width that shrinks as 1 / n. Agresti and Min 2005, Stat. Med. 24.
    """
    groups, n = int(codes.max()) + 1, len(gaps)
    if groups < 2:
        return -1.0, 1.0
    mean = float(gaps.sum()) / (n + 2)
    added = ((1 - mean) ** 2 + (1 + mean) ** 2) / 2 + mean**2
    variance = (_variance_of_mean(gaps, codes, mean) * n**2 + added) / (n + 2) ** 2
    half = _quantile(groups, confidence) * float(np.sqrt(variance))
    return max(-1.0, mean - half), min(1.0, mean + half)


def _variance_of_mean(values: Floats, codes: npt.NDArray[np.int64], centre: float) -> float:
    residuals = values - centre
    return _variance(np.bincount(codes, residuals).astype(float), float((residuals**2).sum()), len(values))


def _variance(sums: Floats, squares: float, n: int) -> float:
    """CR1 of a mean of n values from the residuals' sums by persona, never below that of independent values.

    ``squares``: the sum of all squared residuals. Few personas make the variance between them unsteady.
    """
    groups = len(sums)
    between = groups / (groups - 1) * float((sums**2).sum()) / n**2
    return max(between, squares / (n - 1) / n)


def _quantile(groups: int, confidence: float) -> float:
    """Of the t distribution with as many degrees of freedom as personas less one."""
    return float(stdtrit(groups - 1, (1 + confidence) / 2))


def _sign_flip_p(sums: Floats, draws: int, seed: int) -> float:
    """Two-sided p of the sum of cluster sums under random signs. A cluster with sum 0 does not matter."""
    sums = sums[np.abs(sums) > ROUNDING]
    observed = abs(float(sums.sum())) - 1e-9
    if len(sums) < 63 and 2 ** len(sums) <= draws:
        bits = np.arange(2 ** len(sums))[:, None] >> np.arange(len(sums)) & 1
        return float((np.abs((2 * bits - 1) @ sums) >= observed).mean())
    signs = np.random.default_rng(seed).integers(2, size=(draws, len(sums)), dtype=np.int8) * 2 - 1
    extreme = int((np.abs(signs @ sums) >= observed).sum())
    return (extreme + 1) / (draws + 1)


def _scored(values: Sequence[float | None], clusters: Sequence[Hashable]) -> tuple[Floats, npt.NDArray[np.int64]]:
    """The values that are there, and the number of each one's cluster."""
    if len(values) != len(clusters):
        raise ValueError(f"{len(values)} values for {len(clusters)} clusters; one cluster a value is right")
    kept = [i for i, value in enumerate(values) if value is not None]
    number: dict[Hashable, int] = {}
    codes = [number.setdefault(clusters[i], len(number)) for i in kept]
    return np.array([values[i] for i in kept], dtype=float), np.array(codes, dtype=np.int64)


def _require_range(values: Floats, low: int, high: int) -> None:
    wrong = values[~((values >= low) & (values <= high))]  # NaN is wrong too
    if len(wrong):
        raise ValueError(f"value {wrong[0]} is outside {low}..{high}")
