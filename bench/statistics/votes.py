"""How many independent votes a panel of judges is worth."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from bench.statistics.agreement import Agreement, Floats, encode
from bench.statistics.bootstrap import Clusters, Interval, sums_interval

Flags = npt.NDArray[np.bool_]
Votes = Sequence[Sequence[Hashable | None]]


@dataclass(frozen=True, slots=True)
class _Counted:
    """The judges that vary. ``terms`` (items, 4 a pair): both known, first, second, and both at once."""

    judges: int
    terms: Floats
    n: int

    def value(self, sums: Floats) -> Floats:
        n, a, b, ab = (sums[..., i::4] for i in range(4))
        spread_a, spread_b = a * (n - a), b * (n - b)
        both, either = (spread_a > 0) & (spread_b > 0), (spread_a > 0) | (spread_b > 0)
        r = np.where(both, (n * ab - a * b) / np.sqrt(np.where(both, spread_a * spread_b, 1.0)), 0.0)
        pairs = either.sum(axis=-1)
        mean = np.where(pairs > 0, r.sum(axis=-1) / np.maximum(pairs, 1), np.nan)
        votes: Floats = self.judges / (1 + (self.judges - 1) * np.clip(mean, 0, 1))
        return votes


def effective_votes(ratings: Votes, reference: Sequence[Hashable | None] | None = None) -> Agreement:
    """How many independent votes a panel is worth, 1..judges: k / (1 + (k - 1) r).

    ``r`` is the mean correlation over pairs of judges, cut to 0..1: of their
    errors where ``reference`` (what humans decided, over the same items) is
    given, else of their votes. A judge that always gives the same vote says
    nothing and is left out; k counts the others. A judge that votes at random
    is independent of all and counts: look at its accuracy. From votes alone
    the number is no bound: a shared truth counts as dependence, but leniency
    that errors share can weigh more. Of two judges, a pair of which one never
    errs counts as 0, of which none errs is left out. Kish 1965, Survey
    Sampling; for judges: Kohli 2026, "Nine Judges, Two Effective Votes"
    (arXiv 2605.29800).
    """
    counted = _counted(ratings, reference)
    if isinstance(counted, Agreement):
        return counted
    value = float(counted.value(counted.terms.sum(axis=0)))
    if not np.isfinite(value):
        return Agreement(None, "undefined because no pair of judges varies on common items", counted.n)
    return Agreement(value, None, counted.n)


def votes_interval(
    ratings: Votes, reference: Sequence[Hashable | None] | None, clusters: Clusters, draws: int = 1000, seed: int = 0
) -> Interval:
    """The interval of ``effective_votes``: draws whole personas, as ``agreement_interval`` does.

    Which judges vary is settled once, on all items.
    """
    counted = _counted(ratings, reference)
    if isinstance(counted, Agreement):
        return Interval(None, None, counted.reason, 0)
    return sums_interval(counted.terms, counted.value, clusters, draws, seed)


def _counted(ratings: Votes, reference: Sequence[Hashable | None] | None) -> _Counted | Agreement:
    coded = encode([*ratings, reference] if reference is not None else ratings)
    judges = coded.codes[:-1] if reference is not None else coded.codes
    if len(judges) < 2:
        return Agreement(None, f"undefined because the panel has {len(judges)} judge(s)", 0)
    if reference is None and len(coded.names) > 2:
        return Agreement(None, f"undefined because {len(coded.names)} categories need a reference", 0)
    varying = [row for row in judges if len(np.unique(row[row >= 0])) > 1]
    if len(varying) < 2:
        return Agreement(None, f"undefined because {len(varying)} of {len(judges)} judges varies its votes", 0)
    votes = np.stack(varying)
    known = votes >= 0
    if reference is not None:
        known &= coded.codes[-1] >= 0
        marks = votes != coded.codes[-1]
    else:
        marks = votes > 0
    return _Counted(len(votes), _terms(marks & known, known), int((known.sum(axis=0) >= 2).sum()))


def _terms(marks: Flags, known: Flags) -> Floats:
    columns = []
    for a, b in combinations(range(len(marks)), 2):
        both = known[a] & known[b]
        columns += [both, marks[a] & both, marks[b] & both, marks[a] & marks[b]]
    return np.stack(columns, axis=1).astype(float)
