"""Paired differences between the methods of a run, on the units that both have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from bench.scoring.intervals import holm, paired_difference
from bench.scoring.rows import METRICS, Row


def pairs(by_method: Mapping[str, Sequence[Row]]) -> list[dict[str, Any]]:
    """Every two methods on the units that both have, with Holm's adjustment over all of one metric."""
    rows = []
    for metric in METRICS:
        found = []
        for a, b in combinations(by_method, 2):
            found.append(_pair(a, b, metric, by_method[a], by_method[b]))
        adjust(found)
        rows += found
    return rows


def pairs_by_domain(by_method: Mapping[str, Sequence[Row]]) -> list[dict[str, Any]]:
    """Every two methods by domain, task success only, with Holm's adjustment over the domains of the two."""
    domains = sorted({row.domain for rows in by_method.values() for row in rows})
    split = {(m, d): [row for row in rows if row.domain == d] for m, rows in by_method.items() for d in domains}
    rows = []
    for a, b in combinations(by_method, 2):
        found = [{"domain": d, **_pair(a, b, "task_success", split[a, d], split[b, d])} for d in domains]
        found = [pair for pair in found if pair["common"]]
        adjust(found)
        rows += found
    return rows


def adjust(rows: Sequence[dict[str, Any]]) -> None:
    """Write ``p_holm`` into every row that has a p, for all of them together."""
    known = [row for row in rows if row["p"] is not None]
    for row, adjusted in zip(known, holm([row["p"] for row in known]), strict=True):
        row["p_holm"] = round(adjusted, 5)


def _pair(a: str, b: str, metric: str, rows_a: Sequence[Row], rows_b: Sequence[Row]) -> dict[str, Any]:
    other = {(row.task_id, row.repeat): row for row in rows_b}
    both = [(row, other[key]) for row in rows_a if (key := (row.task_id, row.repeat)) in other]
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
