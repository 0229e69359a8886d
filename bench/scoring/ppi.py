"""Prediction-powered inference: few human verdicts and many AI verdicts give one valid interval."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from bench.scoring.intervals import wilson

Floats = npt.NDArray[np.float64]


def mean_interval(
    human: Sequence[float],
    ai_on_human: Sequence[float],
    ai_on_rest: Sequence[float],
    confidence: float = 0.95,
) -> tuple[float, float, float]:
    """(estimate, low, high), each 0..1, of the share that humans would pass, by PPI++ with a tuned lambda.

    ``human`` and ``ai_on_human`` are verdicts (0 or 1) on the same *random*
    sample; ``ai_on_rest`` are AI verdicts on all other items. The AI may be
    wrong in any way: what it is worth is measured on the sample. Angelopoulos,
    Duchi and Zrnic 2023, "PPI++" (arXiv 2311.01453), section 6.

    Without ``ai_on_rest``, or where humans or AI never vary, it is the interval
    of the humans alone. Items count as independent. Raises ValueError for no human
    verdict, unequal lengths, and values other than 0 and 1.
    """
    y, f, rest = (
        _verdicts(name, v) for name, v in (("human", human), ("ai_on_human", ai_on_human), ("ai_on_rest", ai_on_rest))
    )
    if not len(y):
        raise ValueError("no human verdicts: have people grade the random audit slice first")
    if len(y) != len(f):
        raise ValueError(f"human has {len(y)} verdicts, ai_on_human {len(f)}; both are about the same items")
    weight = _power_tuned_lambda(y, f, rest)
    corrected = y - weight * f
    ai_mean = float(rest.mean()) if len(rest) else 0.0
    estimate = min(max(weight * ai_mean + float(corrected.mean()), 0.0), 1.0)
    variance = _variance(corrected) / len(y) + (weight**2 * _variance(rest) / len(rest) if len(rest) else 0.0)
    spread = estimate * (1 - estimate)
    # as in intervals.py: the variance as a number of observations in Wilson's interval
    effective = spread / variance if variance > 1e-12 and spread > 0 else float(len(y))
    low, high = wilson(estimate, effective, NormalDist().inv_cdf((1 + confidence) / 2))
    return estimate, low, high


def _power_tuned_lambda(y: Floats, f: Floats, rest: Floats) -> float:
    """Weight of the AI verdicts that makes the variance least: cov(y, f) / ((1 + n/N) var(f)), within 0..1.

    The variance of f is taken over sample and rest together.
    """
    if len(y) < 2 or not len(rest):
        return 0.0
    spread = _variance(np.concatenate([f, rest]))
    if spread == 0:
        return 0.0
    covariance = float(np.cov(y, f)[0, 1])
    return min(max(covariance / ((1 + len(y) / len(rest)) * spread), 0.0), 1.0)


def _variance(values: Floats) -> float:
    return float(values.var(ddof=1)) if len(values) > 1 else 0.0


def _verdicts(name: str, values: Sequence[float]) -> Floats:
    array = np.asarray(values, dtype=float).reshape(-1)
    wrong = array[(array != 0) & (array != 1)]
    if len(wrong):
        raise ValueError(f"{name} holds {wrong[0]}; verdicts are 0 or 1")
    return array
