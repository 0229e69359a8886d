"""Tables of shades: domains, scenarios and dimensions by method, each value with its interval and n."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TypedDict

from django.db.models import Count, Q

from bench.models import CheckpointScore, Domain, Run, Unit
from bench.pages import numbers
from bench.results.cells import Cell, Part
from bench.results.rows import ACTIONS
from bench.statistics.intervals import Measure, clustered_mean, clustered_share


class HeatValue(TypedDict):
    """A share with its interval, ``n`` of ``planned`` behind it, and the shade (0 to 9) of its cell.

    Where it has no headline, ``why`` says the reason and ``shade`` is "none".
    """

    method: str
    mean: float | None
    low: float | None
    high: float | None
    n: int
    planned: int
    shade: str
    why: str


class HeatRow(TypedDict):
    """One value a method, in the order of the page. ``note``: the kind of action, or "".

    ``parts``: of what has tasks of both kinds, kind of action -> the values of these tasks.
    """

    slug: str
    name: str
    note: str
    values: list[HeatValue]
    parts: dict[str, list[HeatValue]]


def success_by_domain(cells: Sequence[Cell], domains: Sequence[Domain]) -> list[HeatRow]:
    """One row a domain: task success of every method."""
    rows: list[HeatRow] = []
    for domain in domains:
        parts = {cell["method"]: cell["by_domain"].get(domain.slug) for cell in cells}
        if any(parts.values()):
            values = [_of_part(method, part) for method, part in parts.items()]
            kinds = {
                action: [
                    _of_part(method, part["by_action"].get(action) if part else None) for method, part in parts.items()
                ]
                for action in ACTIONS
                if any(part and action in part["by_action"] for part in parts.values())
            }
            both = kinds if len(kinds) > 1 else {}
            rows.append({"slug": domain.slug, "name": domain.name, "note": "", "values": values, "parts": both})
    return rows


def _of_part(method: str, part: Part | None) -> HeatValue:
    if part is None:
        return _heat_value(method, Measure(None, None, None, 0), 0)
    measure = part["task_success"]
    return _heat_value(method, Measure(measure["mean"], measure["low"], measure["high"], measure["n"]), part["planned"])


def _heat_value(method: str, measure: Measure, planned: int) -> HeatValue:
    why = numbers.withheld({"planned": planned, "evaluated": measure.n}) if planned else "no task"
    why = why or ("nothing is scored" if measure.mean is None else "")
    shown = Measure(None, None, None, measure.n) if why or measure.mean is None else measure
    shade = "none" if shown.mean is None else str(min(9, int(shown.mean * 10)))
    return {"method": method, **shown.to_json(), "planned": planned, "shade": shade, "why": why}


def success_by_scenario(
    run: Run, domain: Domain, methods: Sequence[str], *, split: str = "", action: str = ""
) -> list[HeatRow]:
    """Task success by scenario of the domain. One query."""
    units = (
        Unit.objects.filter(run=run, task__scenario__domain=domain, **_narrowed("task", split, action))
        .order_by()
        .annotate(
            wanted=Count("trajectory__scores"),
            known=Count("trajectory__scores", filter=~Q(trajectory__scores__combined="")),
            passed=Count("trajectory__scores", filter=Q(trajectory__scores__combined="pass")),
        )
        .values_list(
            "task__scenario__slug", "task__scenario__name", "task__scenario__action_kind", "method",
            "task__persona_id", "wanted", "known", "passed",
        )
    )  # fmt: skip
    found: dict[tuple[str, str, str], dict[str, list[tuple[int, float | None]]]] = defaultdict(
        lambda: {method: [] for method in methods}
    )
    for slug, name, kind, method, persona, wanted, known, passed in units:
        scored = wanted and known == wanted
        found[slug, name, kind].setdefault(method, []).append((persona, float(passed == wanted) if scored else None))
    return [
        {"slug": slug, "name": name, "note": numbers.action_words(kind), "parts": {}, "values": [
            _heat_value(m, clustered_mean([v for _, v in of[m]], [p for p, _ in of[m]]), len(of[m])) for m in methods
        ]}
        for (slug, name, kind), of in sorted(found.items())
    ]  # fmt: skip


def satisfaction_by_dimension(
    run: Run, domain: Domain, methods: Sequence[str], *, split: str = "", action: str = ""
) -> list[HeatRow]:
    """Share of passed preference checkpoints by dimension, in tasks of the domain. Two queries."""
    units = Unit.objects.filter(run=run, task__scenario__domain=domain, task__checkpoints__kind="preference")
    asked = units.filter(**_narrowed("task", split, action)).order_by()
    scored = (
        CheckpointScore.objects.filter(trajectory__unit__run=run, checkpoint__task__scenario__domain=domain)
        .filter(checkpoint__kind="preference", combined__in=["pass", "fail"])
        .filter(**_narrowed("checkpoint__task", split, action))
        .order_by()
        .values_list(
            "checkpoint__dimension",
            "checkpoint__task__scenario__action_kind",
            "trajectory__unit__method",
            "checkpoint__task__persona_id",
        )
        .annotate(evaluated=Count("pk"), passed=Count("pk", filter=Q(combined="pass")))
    )
    planned: Counter[tuple[str, str, str]] = Counter()
    kinds: dict[str, set[str]] = defaultdict(set)
    groups = asked.values_list("task__checkpoints__dimension", "task__scenario__action_kind", "method")
    for dimension, kind, method, count in groups.annotate(n=Count("pk")):
        kinds[dimension].add(kind)
        for action in ("", kind):
            planned[dimension, action, method] += count
    counts: dict[tuple[str, str, str], dict[int, tuple[int, int]]] = defaultdict(dict)
    for dimension, kind, method, persona, evaluated, passed in scored:
        for action in ("", kind):
            before = counts[dimension, action, method].get(persona, (0, 0))
            counts[dimension, action, method][persona] = before[0] + passed, before[1] + evaluated

    def values(dimension: str, action: str) -> list[HeatValue]:
        return [_of_counts(m, counts[dimension, action, m], planned[dimension, action, m]) for m in methods]

    return [
        {"slug": d, "name": d, "note": "", "values": values(d, ""), "parts": {
            kind: values(d, kind) for kind in sorted(kinds[d]) if len(kinds[d]) > 1
        }}
        for d in sorted(kinds)
    ]  # fmt: skip


def _of_counts(method: str, by_persona: Mapping[int, tuple[int, int]], planned: int) -> HeatValue:
    """``by_persona``: how many passed, of how many that were evaluated."""
    share = clustered_share([passed for passed, _ in by_persona.values()], [n for _, n in by_persona.values()])
    return _heat_value(method, share, planned)


def _narrowed(task: str, split: str, action: str) -> dict[str, str]:
    given = {f"{task}__persona__split": split, f"{task}__scenario__action_kind": action}
    return {name: value for name, value in given.items() if value}
