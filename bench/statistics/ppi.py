"""Prediction-powered inference: few human verdicts and many AI verdicts give one valid interval."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from bench.statistics.intervals import clustered_mean, wilson

Floats = npt.NDArray[np.float64]
FEW_DISAGREEMENTS = 5  # our decision: with fewer, the sample hardly shows how often the AI is wrong
CELLS = ((1, 1), (1, 0), (0, 1), (0, 0))  # (human, AI)


def mean_interval(
    human: Sequence[float],
    ai_on_human: Sequence[float],
    ai_on_rest: Sequence[float],
    confidence: float = 0.95,
    *,
    human_clusters: Sequence[Hashable] | None = None,
    rest_clusters: Sequence[Hashable] | None = None,
) -> tuple[float, float, float]:
    """(estimate, low, high), each 0..1, of the share that humans would pass, by PPI++ with a tuned lambda.

    ``human`` and ``ai_on_human`` are verdicts (0 or 1) on the same *random*
    sample; ``ai_on_rest`` are AI verdicts on all other items. The AI may be
    wrong in any way: what it is worth is measured on the sample. Angelopoulos,
    Duchi and Zrnic 2023, "PPI++" (arXiv 2311.01453), section 6.

    ``human_clusters`` and ``rest_clusters`` name the persona of each item;
    without them items count as independent. docs/scoring.md gives the variance
    and the guard against an AI whose errors the sample hardly shows.

    The interval is never wider than that of the humans alone, which stands
    where the AI does not help. Raises ValueError for no human verdict, lists
    of different length, and values other than 0 and 1.
    """
    y, f, rest = (
        _verdicts(name, v) for name, v in (("human", human), ("ai_on_human", ai_on_human), ("ai_on_rest", ai_on_rest))
    )
    if not len(y):
        raise ValueError("no human verdicts: have people grade the random audit slice first")
    if len(y) != len(f):
        raise ValueError(f"human has {len(y)} verdicts, ai_on_human {len(f)}; both are about the same items")
    codes = _clusters(len(y), len(rest), human_clusters, rest_clusters)
    alone = clustered_mean(y.tolist(), codes[: len(y)].tolist(), confidence)
    if alone.mean is None or alone.low is None or alone.high is None:
        raise ValueError("a mean of human verdicts has an interval")
    personas = len(np.unique(codes[: len(y)]))
    weight = _power_tuned_lambda(y, f, rest)
    if weight == 0 or personas < 2:
        return alone.mean, alone.low, alone.high
    estimate = min(max(weight * float(rest.mean()) + float((y - weight * f).mean()), 0.0), 1.0)
    spread = estimate * (1 - estimate)
    # as in intervals.py: the variance as a number of observations in Wilson's interval
    effective = spread / _variance(y, f, rest, weight, codes, personas) if spread > 0 else float(personas)
    low, high = wilson(estimate, effective, float(stdtrit(personas - 1, (1 + confidence) / 2)))
    return (estimate, low, high) if high - low < alone.high - alone.low else (alone.mean, alone.low, alone.high)


def _power_tuned_lambda(y: Floats, f: Floats, rest: Floats) -> float:
    """Weight of the AI verdicts that makes the variance least: cov(y, f) / ((1 + n/N) var(f)), within 0..1.

    The variance of f is taken over sample and rest together.
    """
    if len(y) < 2 or not len(rest):
        return 0.0
    spread = float(np.concatenate([f, rest]).var(ddof=1))
    if spread == 0:
        return 0.0
    covariance = float(np.cov(y, f)[0, 1])
    return min(max(covariance / ((1 + len(y) / len(rest)) * spread), 0.0), 1.0)


def _variance(y: Floats, f: Floats, rest: Floats, weight: float, codes: npt.NDArray[np.int64], personas: int) -> float:
    """Cluster-robust variance of the estimate; above 0 where ``weight`` is, since then human and AI both vary.

    A persona's part is what its items add to the estimate, on the sample and
    on the rest together. Where humans and AI disagree on few items, half an
    observation joins each cell of their 2 x 2 table.
    """
    corrected = y - weight * f
    mean = float(corrected.mean())
    extra = 0.5 if int((y != f).sum()) < FEW_DISAGREEMENTS else 0.0
    n = len(y) + len(CELLS) * extra
    parts = np.bincount(codes, np.concatenate([(corrected - mean) / n, weight * (rest - rest.mean()) / len(rest)]))
    added = extra * sum((human - weight * ai - mean) ** 2 for human, ai in CELLS) / n**2
    return personas / (personas - 1) * float((parts**2).sum()) + added


def _clusters(
    n: int, rest: int, of_humans: Sequence[Hashable] | None, of_rest: Sequence[Hashable] | None
) -> npt.NDArray[np.int64]:
    """The number of each item's persona, the sample first; every item its own without clusters."""
    if of_humans is None and of_rest is None:
        return np.arange(n + rest)
    given = [*(of_humans or ()), *(of_rest or ())]
    if len(of_humans or ()) != n or len(of_rest or ()) != rest:
        raise ValueError(
            f"{len(of_humans or ())} and {len(of_rest or ())} clusters for {n} and {rest} items; one an item is right"
        )
    number: dict[Hashable, int] = {}
    return np.array([number.setdefault(one, len(number)) for one in given], dtype=np.int64)


def _verdicts(name: str, values: Sequence[float]) -> Floats:
    array = np.asarray(values, dtype=float).reshape(-1)
    wrong = array[(array != 0) & (array != 1)]
    if len(wrong):
        raise ValueError(f"{name} holds {wrong[0]}; verdicts are 0 or 1")
    return array
