"""Task success if the checkpoints of a task failed independently of one another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bench.results.rows import Row
from bench.statistics.agreement import Floats
from bench.statistics.bootstrap import sums_interval
from bench.statistics.intervals import MeasureJson

Pattern = tuple[str, int, int]  # action kind, number of task checkpoints, number of preference checkpoints


class Expected(MeasureJson):
    """``n``: trajectories with a score. ``reason``: why there is no mean or no interval, or ""."""

    reason: str


def expected_if_independent(rows: Sequence[Row]) -> Expected:
    """Expected task success, 0..1, of the trajectories of one method, with a bootstrap interval over personas.

    A checkpoint's pass rate is that of its kind among the tasks of one action kind, since texts and calls pass at
    different rates. The rates of a task's checkpoints are multiplied, and the products averaged over the method's
    trajectories: a mean over tasks of one product is no product of means. A kind of checkpoint that was never scored
    does not count.
    """
    scored = [row for row in rows if row.tasks.known or row.preferences.known]
    if not scored:
        return Expected(mean=None, low=None, high=None, n=0, reason="no checkpoint is scored")
    actions = sorted({row.action for row in scored})
    patterns = sorted({_pattern(row) for row in scored})
    terms = np.array([_terms(row, actions, patterns) for row in scored], dtype=float)

    def value(sums: Floats) -> Floats:
        """Columns: known and passed of tasks, then of preferences, for each action; then the patterns."""
        counts = sums[..., : 4 * len(actions)].reshape(*sums.shape[:-1], len(actions), 2, 2)
        known, passed = counts[..., 0], counts[..., 1]
        rates = np.divide(passed, known, out=np.ones(known.shape), where=known > 0)
        products = np.stack(
            [rates[..., actions.index(a), 0] ** t * rates[..., actions.index(a), 1] ** p for a, t, p in patterns],
            axis=-1,
        )
        often = sums[..., 4 * len(actions) :]
        expected: Floats = (products * often).sum(axis=-1) / often.sum(axis=-1)
        return expected

    mean = round(float(value(terms.sum(axis=0))), 4)
    interval = sums_interval(terms, value, [row.persona_id for row in scored])
    if interval.low is None or interval.high is None:
        return Expected(mean=mean, low=None, high=None, n=len(scored), reason=interval.reason or "")
    if interval.low == interval.high:
        reason = "undefined because the checkpoints of a kind all ended alike"
        return Expected(mean=mean, low=None, high=None, n=len(scored), reason=reason)
    low, high = (round(bound, 4) for bound in (interval.low, interval.high))
    return Expected(mean=mean, low=min(low, mean), high=max(high, mean), n=len(scored), reason="")


def _pattern(row: Row) -> Pattern:
    return row.action, row.tasks.total, row.preferences.total


def _terms(row: Row, actions: Sequence[str], patterns: Sequence[Pattern]) -> list[int]:
    counts = [0] * (4 * len(actions))
    at = 4 * actions.index(row.action)
    counts[at : at + 4] = [row.tasks.known, row.tasks.passed, row.preferences.known, row.preferences.passed]
    mine = _pattern(row)
    return [*counts, *(int(one == mine) for one in patterns)]
