"""One method's numbers: over all of its units, and over those of one domain or one kind of action."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypedDict

from agents.registry import resolve
from bench.models import Run
from bench.results.independence import Expected, expected_if_independent
from bench.results.measures import Coverage
from bench.results.rows import ACTIONS, Row
from bench.statistics.intervals import MeasureJson, clustered_count, clustered_mean
from bench.statistics.repeats import RepeatsJson, over_tasks


class OverApplied(MeasureJson):
    """Constraints applied that should not have been: ``count`` over ``n`` trajectories that draw any."""

    count: int | None


class Part(TypedDict):
    """Both denominators and the measures of some units of one method. ``recall``: share of gold events seen;
    ``settled``: share of preference checkpoints that the events seen settle for an ideal reader.
    """

    planned: int
    evaluated: int
    errors: int
    unscored: int
    headline: bool
    behaviour_accuracy: MeasureJson
    preference_satisfaction: MeasureJson
    task_success: MeasureJson
    recall: MeasureJson
    settled: MeasureJson
    over_applied: OverApplied


class Totals(Part):
    """A part with what takes more work: repeats (None where a task ran once), independence, and the bill."""

    repeats: RepeatsJson | None
    expected_if_independent: Expected
    evidence_recall: float | None
    llm_calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float
    wall_s: float


class DomainPart(Part):
    by_action: dict[str, Part]


class Cell(Totals):
    method: str
    label: str
    model: str
    ablation: str | None
    uses_gold: bool
    simulated: bool
    by_domain: dict[str, DomainPart]
    by_action: dict[str, Totals]


def cell(run: Run, method: str, rows: Sequence[Row]) -> Cell:
    spec, repeats = resolve(method), int(run.manifest["repeats"])
    return Cell(
        method=method,
        label=spec.label,
        model=run.model,
        ablation=spec.ablation or None,
        uses_gold=spec.uses_gold,
        simulated=run.simulated,
        by_domain={domain: _domain_part(mine) for domain, mine in _by_domain(rows).items()},
        by_action={action: _totals(mine, repeats) for action, mine in by_action(rows).items()},
        **_totals(rows, repeats),
    )


def by_action(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of each kind of action that has one."""
    found = {action: [row for row in rows if row.action == action] for action in ACTIONS}
    return {action: mine for action, mine in found.items() if mine}


def _by_domain(rows: Sequence[Row]) -> Mapping[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row.domain].append(row)
    return dict(sorted(found.items()))


def _domain_part(rows: Sequence[Row]) -> DomainPart:
    return DomainPart(by_action={action: _part(mine) for action, mine in by_action(rows).items()}, **_part(rows))


def _part(rows: Sequence[Row]) -> Part:
    personas = [row.persona_id for row in rows]
    evaluated = sum(row.evaluated for row in rows)
    return Part(
        planned=len(rows),
        evaluated=evaluated,
        errors=sum(row.error for row in rows),
        unscored=sum(not row.evaluated and not row.error for row in rows),
        headline=Coverage(len(rows), evaluated).headline,
        behaviour_accuracy=clustered_mean([row.behaviour_accuracy for row in rows], personas).to_json(),
        preference_satisfaction=clustered_mean([row.preference_satisfaction for row in rows], personas).to_json(),
        task_success=clustered_mean([row.task_success for row in rows], personas).to_json(),
        recall=clustered_mean([row.evidence_recall for row in rows], personas).to_json(),
        settled=clustered_mean([row.settled for row in rows], personas).to_json(),
        over_applied=_over_applied(rows, personas),
    )


def _totals(rows: Sequence[Row], repeats: int) -> Totals:
    part = _part(rows)
    recall = part["recall"]["mean"]
    return Totals(
        repeats=_repeats(rows, repeats),
        expected_if_independent=expected_if_independent(rows),
        evidence_recall=None if recall is None else round(recall, 4),
        llm_calls=sum(row.llm_calls for row in rows),
        tokens_in=sum(row.tokens_in for row in rows),
        tokens_out=sum(row.tokens_out for row in rows),
        cost_usd=round(sum(row.cost_usd for row in rows), 6),
        wall_s=round(sum(row.wall_s for row in rows), 3),
        **part,
    )


def _over_applied(rows: Sequence[Row], personas: Sequence[int]) -> OverApplied:
    known = [row.over_applied for row in rows if row.over_applied is not None]
    mean = clustered_count([row.over_applied for row in rows], personas)
    return OverApplied(count=sum(known) if known else None, **mean.to_json())


def _repeats(rows: Sequence[Row], k: int) -> RepeatsJson | None:
    """mean@k, pass@k and pass^k of task success over the run's k repeats; None where a task ran once."""
    if k < 2:
        return None
    trials: dict[int, list[bool | None]] = defaultdict(list)
    personas: dict[int, int] = {}
    for row in rows:
        trials[row.task_id].append(None if row.task_success is None else row.task_success == 1)
        personas[row.task_id] = row.persona_id
    return over_tasks(list(trials.values()), list(personas.values()), k).to_json()
