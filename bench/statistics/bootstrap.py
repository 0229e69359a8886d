"""Percentile bootstrap that draws whole personas, since tasks of one persona are alike."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from bench.statistics.agreement import COEFFICIENTS, Floats, Ratings, encode

Clusters = Sequence[Hashable] | npt.NDArray[np.int64]

ENOUGH = 0.9  # share of the draws that must have a value


@dataclass(frozen=True, slots=True)
class Interval:
    """Bounds, or None and the reason. ``draws``: how many draws had a value."""

    low: float | None
    high: float | None
    reason: str | None
    draws: int


def cluster_bootstrap(
    statistic: Callable[[npt.NDArray[np.int64]], float | None],
    clusters: Clusters,
    draws: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Interval:
    """Percentile interval of any statistic of items, drawing clusters with replacement.

    ``clusters[i]`` is the persona of item i. ``statistic`` takes item numbers
    (with repeats) and returns a number or None. Deterministic for a seed.
    Efron and Tibshirani 1993, An Introduction to the Bootstrap, ch. 8 and 13.
    """
    codes, groups = _cluster_codes(clusters)
    if groups < 2:
        return _too_few(groups)
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    rng = np.random.default_rng(seed)
    chosen = rng.integers(groups, size=(draws, groups))
    values = [statistic(np.concatenate([members[g] for g in row])) for row in chosen]
    return _percentiles(np.array([np.nan if v is None else v for v in values], dtype=float), confidence)


def agreement_interval(
    name: str,
    ratings: Ratings,
    clusters: Clusters,
    draws: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Interval:
    """The same interval for a coefficient of ``agreement`` ("raw", "ac1", "alpha", "cohen", "fleiss"), fast.

    Adds up per-cluster sums instead of walking items. Categories are those
    seen in the whole of ``ratings``, in every draw.
    """
    if name not in COEFFICIENTS:
        raise ValueError(f"no coefficient {name!r}; there are {sorted(COEFFICIENTS)}")
    coded = encode(ratings)
    codes, names = coded.codes, coded.names
    if len(clusters) != codes.shape[1]:
        raise ValueError(f"{len(clusters)} clusters for {codes.shape[1]} items; one cluster an item is right")
    if name == "cohen" and len(codes) != 2:
        raise ValueError(f"Cohen's kappa takes two raters, got {len(codes)}")
    coefficient, q = COEFFICIENTS[name], len(names)
    terms = coefficient.terms(codes, q)
    return sums_interval(terms, lambda sums: coefficient.value(sums, q), clusters, draws, seed, confidence)


def sums_interval(
    terms: Floats,
    value: Callable[[Floats], Floats],
    clusters: Clusters,
    draws: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Interval:
    """The interval of whatever is a function of sums over items: ``terms`` (items, m), ``value`` of (..., m)."""
    by_item, groups = _cluster_codes(clusters)
    if groups < 2:
        return _too_few(groups)
    sums = np.stack([np.bincount(by_item, column, groups) for column in terms.T], axis=1)
    return _percentiles(value(_weights(groups, draws, seed) @ sums), confidence)


@lru_cache(maxsize=16)
def _weights(groups: int, draws: int, seed: int) -> npt.NDArray[np.float64]:
    """(draws, groups): how often each draw holds each cluster. Kept, since a report asks for the same many times."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(groups, np.full(groups, 1 / groups), size=draws).astype(float)


def _cluster_codes(clusters: Clusters) -> tuple[npt.NDArray[np.int64], int]:
    """A number for each cluster in order of appearance, an entry an item; and how many clusters there are."""
    if isinstance(clusters, np.ndarray):
        _, first, codes = np.unique(clusters, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[codes], len(first)
    number: dict[Hashable, int] = {}
    return np.array([number.setdefault(one, len(number)) for one in clusters], dtype=np.int64), len(number)


def _too_few(groups: int) -> Interval:
    return Interval(None, None, f"undefined because there is {'one' if groups else 'no'} persona", 0)


def _percentiles(values: npt.NDArray[np.float64], confidence: float) -> Interval:
    defined = values[np.isfinite(values)]
    if not len(defined) or len(defined) < ENOUGH * len(values):
        reason = f"undefined because only {len(defined)} of {len(values)} draws have a value"
        return Interval(None, None, reason, len(defined))
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high), None, len(defined))
