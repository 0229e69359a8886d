"""Task success as humans would grade it: AI verdicts on everything, corrected by the random audit slice (PPI++)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from bench.results.cells import by_action
from bench.results.rows import Row
from bench.statistics.ppi import mean_interval

DECIDED_FOR_ESTIMATE = 0.9  # our decision: a part of the slice that was picked for any reason is no random sample


class HumanEstimate(TypedDict):
    """``n_human`` of the ``slice`` trajectories are decided, ``n_ai`` are graded by the AI.

    ``estimate``, ``low`` and ``high`` are None where ``reason`` says why the estimate is withheld.
    """

    estimate: float | None
    low: float | None
    high: float | None
    n_human: int
    slice: int
    n_ai: int
    reason: str


class DomainEstimate(HumanEstimate):
    by_action: dict[str, HumanEstimate]


class MethodEstimate(DomainEstimate):
    by_domain: dict[str, DomainEstimate]


def human_calibrated(human: Mapping[str, Sequence[Row]], ai: Mapping[str, Sequence[Row]]) -> dict[str, MethodEstimate]:
    """Method -> its estimate, for all tasks and each domain, and in both for each kind of action. A method that nobody
    has graded is left out.

    Only the random audit slice counts, since what was escalated or chosen is no random sample, and only once nine in
    ten of it are decided: a slice that is graded for one domain gives an estimate of that domain and no other.
    """
    found = {}
    for method, rows in ai.items():
        graded = {(row.task_id, row.repeat): row.task_success for row in human.get(method, []) if row.audit}
        if any(value is not None for value in graded.values()):
            domains = sorted({row.domain for row in rows})
            by_domain = {domain: _split([r for r in rows if r.domain == domain], graded) for domain in domains}
            found[method] = MethodEstimate(**_split(rows, graded), by_domain=by_domain)
    return found


def _split(rows: Sequence[Row], graded: Mapping[tuple[int, int], float | None]) -> DomainEstimate:
    """The estimate of these tasks, and that of each kind of action among them."""
    actions = {action: _estimate(mine, graded) for action, mine in by_action(rows).items()}
    return DomainEstimate(**_estimate(rows, graded), by_action=actions)


def _estimate(rows: Sequence[Row], graded: Mapping[tuple[int, int], float | None]) -> HumanEstimate:
    """``rows`` as the AI grades them; ``graded`` holds the audit slice as humans grade it."""
    in_slice = [row for row in rows if row.audit]
    known = [(graded.get((row.task_id, row.repeat)), row.task_success, row.persona_id) for row in rows]
    sample = [(y, f, persona) for y, f, persona in known if y is not None and f is not None]
    rest = [(f, persona) for y, f, persona in known if y is None and f is not None]
    found = HumanEstimate(
        estimate=None, low=None, high=None, reason="",
        n_human=len(sample), slice=len(in_slice), n_ai=len(sample) + len(rest),
    )  # fmt: skip
    if not sample or len(sample) < DECIDED_FOR_ESTIMATE * len(in_slice):
        share = f"{DECIDED_FOR_ESTIMATE:.0%}"
        found["reason"] = f"{len(sample)} of {len(in_slice)} audit trajectories decided; an estimate needs {share}"
        return found
    found["estimate"], found["low"], found["high"] = mean_interval(
        [y for y, _, _ in sample],
        [f for _, f, _ in sample],
        [f for f, _ in rest],
        human_clusters=[persona for _, _, persona in sample],
        rest_clusters=[persona for _, persona in rest],
    )
    return found
