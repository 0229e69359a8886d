"""Paired differences between the methods of a run, on the units that both have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from bench.results.rows import METRICS, Row
from bench.statistics.intervals import holm, paired_difference

Both = Sequence[tuple[Row, Row]]  # what two methods made of the same unit


def pairs(by_method: Mapping[str, Sequence[Row]]) -> list[dict[str, Any]]:
    """Every two methods on the units that both have, with Holm's adjustment over all of one metric."""
    both = {(a, b): _both(by_method[a], by_method[b]) for a, b in combinations(by_method, 2)}
    rows = []
    for metric in METRICS:
        found = [_pair(a, b, metric, both[a, b]) for a, b in both]
        adjust(found)
        rows += found
    return rows


def pairs_by_domain(by_method: Mapping[str, Sequence[Row]]) -> list[dict[str, Any]]:
    """Every two methods by domain, task success only, with Holm's adjustment over the domains of the two."""
    rows = []
    for a, b in combinations(by_method, 2):
        domains: dict[str, list[tuple[Row, Row]]] = defaultdict(list)
        for x, y in _both(by_method[a], by_method[b]):
            domains[x.domain].append((x, y))
        found = [{"domain": d, **_pair(a, b, "task_success", domains[d])} for d in sorted(domains)]
        adjust(found)
        rows += found
    return rows


def adjust(rows: Sequence[dict[str, Any]]) -> None:
    """Write ``p_holm`` into every row that has a p, for all of them together."""
    known = [row for row in rows if row["p"] is not None]
    for row, adjusted in zip(known, holm([row["p"] for row in known]), strict=True):
        row["p_holm"] = round(adjusted, 5)


def without_verdict(rows: Sequence[dict[str, Any]]) -> None:
    """For a simulated run: difference and interval stay, but nothing is said to be ahead."""
    for row in rows:
        row.update(p=None, p_holm=None, distinguishable=None, words="simulated")


def _both(rows_a: Sequence[Row], rows_b: Sequence[Row]) -> Both:
    other = {(row.task_id, row.repeat): row for row in rows_b}
    return [(row, other[key]) for row in rows_a if (key := (row.task_id, row.repeat)) in other]


def _pair(a: str, b: str, metric: str, both: Both) -> dict[str, Any]:
    difference = paired_difference(
        [getattr(x, metric) for x, _ in both],
        [getattr(y, metric) for _, y in both],
        [x.persona_id for x, _ in both],
    )
    return {
        "a": a,
        "b": b,
        "metric": metric,
        "difference": difference.difference,
        "low": difference.low,
        "high": difference.high,
        "n": difference.n,
        "common": len(both),
        "p": difference.p,
        "distinguishable": difference.distinguishable,
        "words": difference.words,
    }
