"""Means and paired differences with 95% intervals clustered by persona. Deterministic.

One method for both: the cluster-robust variance of the mean (CR1, as for a
regression on a constant), put into Wilson's score interval as an effective
number of observations, never more than independent values would give. It
stays within the range, does not collapse at 0 or 1, one success more never
lowers its upper bound from 0 of n to 1 of n, and it needs no draws.
docs/scoring.md gives the formula.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Measure:
    """A mean in 0..1 with its interval; all None where n is 0. ``n``: scored values."""

    mean: float | None
    low: float | None
    high: float | None
    n: int

    def to_json(self) -> dict[str, float | int | None]:
        """``{"mean", "low", "high", "n"}``."""
        return asdict(self)


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
    low, high = (2 * bound - 1 for bound in _interval((known + 1) / 2, codes, confidence))
    p = _sign_flip_p(np.bincount(codes, known).astype(float), draws, seed)
    distinct = p < 1 - confidence and not low <= 0 <= high
    return Difference(float(known.mean()), low, high, len(known), p, distinct)


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
    residuals = np.bincount(codes, values - mean)
    between = groups / (groups - 1) * float((residuals**2).sum()) / len(values) ** 2
    # Never narrower than independent values would be: few personas make the variance between them unsteady.
    variance = max(between, float(values.var(ddof=1)) / len(values))
    spread = mean * (1 - mean)
    # Without any variation nothing says that a persona's values hang together. Korn and Graubard 1998, Surv. Methodol.
    effective = spread / variance if variance > 1e-12 and spread > 0 else float(len(values))
    t = float(stdtrit(groups - 1, (1 + confidence) / 2))
    return wilson(mean, effective, t)


def _sign_flip_p(sums: Floats, draws: int, seed: int) -> float:
    """Two-sided p of the sum of cluster sums under random signs. A cluster with sum 0 does not matter."""
    sums = sums[np.abs(sums) > 1e-12]
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
