"""Paired differences between the methods of a run, on the units that both have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NotRequired, TypedDict

from bench.results.rows import ACTIONS, METRICS, Row
from bench.statistics.intervals import holm, paired_difference

ByMethod = Mapping[str, Sequence[Row]]
Both = Sequence[tuple[Row, Row]]  # what two methods made of the same unit


class Pair(TypedDict):
    """Mean of a - b over the ``n`` units that both have scored, of ``common`` that both have; None where n is 0.

    ``p``, ``p_holm`` and ``distinguishable`` are None in a simulated run. ``domain`` and ``action``: of which tasks.
    """

    a: str
    b: str
    metric: str
    difference: float | None
    low: float | None
    high: float | None
    n: int
    common: int
    p: float | None
    p_holm: NotRequired[float | None]
    distinguishable: bool | None
    words: str
    domain: NotRequired[str]
    action: NotRequired[str]


def pairs(by_method: ByMethod) -> list[Pair]:
    """Every two methods on the units that both have, with Holm's adjustment over all of one metric."""
    both = {(a, b): _both(by_method[a], by_method[b]) for a, b in combinations(by_method, 2)}
    rows = []
    for metric in METRICS:
        found = [_pair(a, b, metric, both[a, b]) for a, b in both]
        adjust(found)
        rows += found
    return rows


def pairs_by_action(by_method: ByMethod) -> list[Pair]:
    """``pairs`` of each kind of action, adjusted within the kind; none where all tasks are of one kind."""
    found: list[Pair] = []
    kinds = {row.action for rows in by_method.values() for row in rows}
    for action in (action for action in ACTIONS if action in kinds and len(kinds) > 1):
        here = {method: [row for row in rows if row.action == action] for method, rows in by_method.items()}
        for pair in pairs(here):
            pair["action"] = action
            found.append(pair)
    return found


def pairs_by_domain(by_method: ByMethod) -> list[Pair]:
    """Every two methods by domain, task success only, with Holm's adjustment over the domains of the two."""
    rows: list[Pair] = []
    for a, b in combinations(by_method, 2):
        domains: dict[str, list[tuple[Row, Row]]] = defaultdict(list)
        for x, y in _both(by_method[a], by_method[b]):
            domains[x.domain].append((x, y))
        found = [_pair(a, b, "task_success", domains[domain]) for domain in sorted(domains)]
        for pair, domain in zip(found, sorted(domains), strict=True):
            pair["domain"] = domain
        adjust(found)
        rows += found
    return rows


def pairs_by_domain_and_action(by_method: ByMethod) -> list[Pair]:
    """``pairs_by_domain`` of each kind of action, in the domains that have tasks of both."""
    kinds: dict[str, set[str]] = defaultdict(set)
    for row in (row for rows in by_method.values() for row in rows):
        kinds[row.domain].add(row.action)
    found: list[Pair] = []
    for action in ACTIONS:
        here = {
            method: [row for row in rows if row.action == action and len(kinds[row.domain]) > 1]
            for method, rows in by_method.items()
        }
        for pair in pairs_by_domain(here):
            pair["action"] = action
            found.append(pair)
    return found


def adjust(rows: Sequence[Pair]) -> None:
    """Write ``p_holm`` into every row that has a p, for all of them together."""
    known = [(row, p) for row in rows if (p := row["p"]) is not None]
    for (row, _), adjusted in zip(known, holm([p for _, p in known]), strict=True):
        row["p_holm"] = round(adjusted, 5)


def without_verdict(rows: Sequence[Pair]) -> None:
    """For a simulated run: difference and interval stay, but nothing is said to be ahead."""
    for row in rows:
        row.update({"p": None, "p_holm": None, "distinguishable": None, "words": "simulated"})


def _both(rows_a: Sequence[Row], rows_b: Sequence[Row]) -> Both:
    other = {(row.task_id, row.repeat): row for row in rows_b}
    return [(row, other[key]) for row in rows_a if (key := (row.task_id, row.repeat)) in other]


def _pair(a: str, b: str, metric: str, both: Both) -> Pair:
    difference = paired_difference(
        [getattr(x, metric) for x, _ in both],
        [getattr(y, metric) for _, y in both],
        [x.persona_id for x, _ in both],
    )
    return Pair(
        a=a,
        b=b,
        metric=metric,
        difference=difference.difference,
        low=difference.low,
        high=difference.high,
        n=difference.n,
        common=len(both),
        p=difference.p,
        distinguishable=difference.distinguishable,
        words=difference.words,
    )
