"""Tasks: a request at a moment, with the checkpoints that the history settles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import fsum
from random import Random
from typing import Any

from bench.catalogue import Catalogue, Scenario
from bench.catalogue.scenario import Request
from bench.catalogue.texts import SLOT
from bench.generation.habits import KINDS, TypedAnswer, asked_habits
from bench.generation.mix import Balance
from bench.generation.moments import NamedDay, as_of_task, day_after, days_meant, kinds_of, unstated_day
from bench.generation.orders import RECORDS
from bench.generation.placing import kind_days
from bench.generation.resolve import Resolved, contest, records_of, resolve
from bench.generation.spec import (
    CheckpointSpec,
    Conflict,
    Order,
    PersonaSpec,
    TaskSpec,
)
from bench.generation.world import build_world, tool_specs
from bench.grading.normalise import MEASURED

CANDIDATES = 240
MIN_PREFERENCES = 3


@dataclass(frozen=True)
class Candidate:
    reference: str
    scenario: Scenario
    request: Request
    as_of: datetime
    slots: dict[str, Any]
    resolved: dict[str, Resolved]
    left_out: frozenset[str] = frozenset()  # dimensions that are settled and not checked
    typed: Mapping[str, TypedAnswer] = field(default_factory=dict)  # of regularities, by reference
    contested: tuple[Order, ...] = ()  # which of two preferences gives way here, and is not checked

    @property
    def checkable(self) -> dict[str, Resolved]:
        given_up = {order.given_up for order in self.contested}
        return {d: found for d, found in self.resolved.items() if d not in given_up and found.evidence}

    @property
    def asked(self) -> dict[str, Resolved]:
        return {dimension: found for dimension, found in self.checkable.items() if dimension not in self.left_out}

    @property
    def conflicts(self) -> set[str]:
        return {r.conflict.value for r in self.asked.values() if r.conflict is not Conflict.NONE}


def candidates_of(catalogue: Catalogue, persona: PersonaSpec, rng: Random) -> list[Candidate]:
    """What the persona could ask and when, among which the dataset's tasks are chosen."""
    return [c for _ in range(CANDIDATES) if (c := _candidate(catalogue, persona, rng)) is not None]


def choose_tasks(pools: Sequence[tuple[str, list[Candidate]]], count: int) -> list[list[Candidate]]:
    """Up to ``count`` for each persona; ``pools`` are split and candidates of each.

    In rounds, one task a persona, so that what one asks leaves room for the others.
    """
    balances = {split: Balance() for split, _ in pools}
    chosen: list[list[Candidate]] = [[] for _ in pools]
    seen: list[Counter[str]] = [Counter() for _ in pools]
    rest = [list(candidates) for _, candidates in pools]
    for _ in range(count):
        for place, (split, _) in enumerate(pools):
            best = _best(rest[place], balances[split], seen[place])
            if best is not None:
                balances[split].add(best.asked)
                seen[place].update(_features(best))
                chosen[place].append(best)
    return chosen


def make_tasks(
    catalogue: Catalogue, persona: PersonaSpec, chosen: Sequence[Candidate], rng: Random
) -> tuple[TaskSpec, ...]:
    """The chosen tasks in order of time."""
    ordered = sorted(chosen, key=lambda c: (c.as_of, c.reference))
    return tuple(
        _task(catalogue, persona, candidate, f"{persona.slug}-{n:02d}-{candidate.scenario.slug}", rng)
        for n, candidate in enumerate(ordered, 1)
    )


def _candidate(catalogue: Catalogue, persona: PersonaSpec, rng: Random) -> Candidate | None:
    domain = rng.choice(persona.domains)
    scenario = rng.choice(list(catalogue.domains[domain].scenarios.values()))
    tags = {tag.value for tag in persona.person.tags}
    fitting = [r for r in scenario.requests if _fits(catalogue, r, tags)]
    if not fitting:
        return None
    request = rng.choice(fitting)
    as_of = as_of_task(persona, rng)
    if as_of.weekday() not in kind_days(kinds_of(request.asked)):
        return None
    day = day_after(as_of.date(), days_meant(request), rng)
    if not any(scenario.slots[name] == "date" for name, _ in SLOT.findall(request.text)):
        day = unstated_day(as_of.date(), request.context or "")
    slots = {
        name: NamedDay(day) if choices == "date" else rng.choice(choices) for name, choices in scenario.slots.items()
    }
    resolved = {}
    for dimension in (d for d in scenario.dimensions if d not in request.drops):
        found = resolve(persona, dimension, as_of=as_of, day=day, context=request.context or "")
        if found is not None and found.value in scenario.options(dimension):
            resolved[dimension] = found
    habits = [one for one in asked_habits(catalogue, persona, scenario, as_of) if one[0] not in request.drops]
    resolved |= {reference: found for reference, _, found in habits}
    typed = {reference: answer for reference, answer, _ in habits}
    orders = _contested(persona, scenario, resolved, as_of)
    resolved |= {order.kept: contest(persona, order, resolved, as_of) for order in orders}
    task = Candidate(
        f"{domain}.{scenario.slug}", scenario, request, as_of, slots, resolved, typed=typed, contested=orders
    )
    return task if len(task.checkable) >= MIN_PREFERENCES else None


def _contested(
    persona: PersonaSpec, scenario: Scenario, resolved: dict[str, Resolved], as_of: datetime
) -> tuple[Order, ...]:
    """The orders that decide here, each about fields of its own: no item is to meet both preferences."""
    sizes = {f.dimension: len(f.options or {}) for f in scenario.decided_fields.values()}
    settled = {d for d, found in resolved.items() if found.conflict in (Conflict.NONE, Conflict.EXPIRED) and d in sizes}
    found: list[Order] = []
    for order in persona.orders:
        alike = order.pair <= settled and sizes[order.kept] == sizes[order.given_up]
        free = not any(order.pair & other.pair for other in found)
        if alike and free and len(records_of(persona, order, as_of)) >= RECORDS:
            found.append(order)
    return tuple(found)


def _fits(catalogue: Catalogue, request: Request, tags: set[str]) -> bool:
    needs = catalogue.conditions[request.context].needs if request.context else ()
    return all(fact.value in tags for fact in (*needs, *request.needs))


def fill(template: str, slots: dict[str, Any]) -> str:
    """Replace ``{slot}`` and ``{slot:iso}`` only; any other brace stays as it is."""
    return SLOT.sub(lambda m: format(slots[m[1]], m[2] or "") if m[1] in slots else m[0], template)


def _best(rest: list[Candidate], balance: Balance, seen: Counter[str]) -> Candidate | None:
    """The task that adds most of what is still rare, taken out of ``rest``; None where no value has room."""
    asked = [(c, found) for c in rest if len(found := _with_room(c, balance)) >= MIN_PREFERENCES]
    if not asked:
        return None
    best, resolved = max(asked, key=lambda one: fsum([_worth(one[0], seen), balance.worth(one[1])]))
    rest[:] = [candidate for candidate in rest if candidate is not best]
    return replace(best, left_out=frozenset(best.checkable.keys() - resolved.keys()))


def _with_room(candidate: Candidate, balance: Balance) -> dict[str, Resolved]:
    """What the task checks: a value that is right too often already is not checked once more."""
    return {d: found for d, found in candidate.checkable.items() if balance.room(d, found.value)}


def _features(candidate: Candidate) -> list[str]:
    domain = candidate.reference.split(".")[0]
    conflicts = [f"conflict {kind}" for kind in sorted(candidate.conflicts)]
    moment = f"at {candidate.as_of:%Y-%m-%d} {candidate.reference}"
    return [*conflicts, f"scenario {candidate.reference}", f"domain {domain}", candidate.request.text, moment]


def _worth(candidate: Candidate, seen: Counter[str]) -> float:
    # Exactly rounded, since `sum` adds floats in another way from Python 3.12 on.
    return fsum(1 / (1 + seen[feature]) ** 2 for feature in _features(candidate))


def _task(catalogue: Catalogue, persona: PersonaSpec, candidate: Candidate, slug: str, rng: Random) -> TaskSpec:
    scenario = candidate.scenario
    task = TaskSpec(
        slug=slug,
        scenario=candidate.reference,
        request=fill(candidate.request.text, candidate.slots),
        as_of=candidate.as_of,
        context=candidate.request.context or "",
        tools=(),
        world={},
        checkpoints=(),
    )
    if scenario.action == "generate":
        return replace(task, checkpoints=_text_checkpoints(candidate))
    wanted = {dimension: resolved.value for dimension, resolved in candidate.resolved.items()}
    return replace(
        task,
        tools=tool_specs(scenario),
        world=build_world(scenario, candidate.slots, wanted, rng, candidate.contested),
        checkpoints=_call_checkpoints(candidate),
    )


def _preference(candidate: Candidate, dimension: str, text: str, rule: dict[str, Any] | None) -> CheckpointSpec:
    resolved = candidate.resolved[dimension]
    return CheckpointSpec(
        kind="preference",
        text=fill(text, candidate.slots),
        rule=rule,
        dimension=dimension,
        value=resolved.value,
        losing_values=resolved.losing,
        conflict=resolved.conflict.value,
        tier=resolved.tier.value,
        evidence=resolved.evidence,
    )


def _text_checkpoints(candidate: Candidate) -> tuple[CheckpointSpec, ...]:
    scenario = candidate.scenario
    task = [CheckpointSpec("task", fill(text, candidate.slots)) for text in scenario.checkpoints]
    preferences = [
        _preference(candidate, dimension, scenario.preferences[dimension][resolved.value], None)
        for dimension, resolved in candidate.asked.items()
        if dimension in scenario.preferences
    ]
    return (*task, *preferences, *_typed_checkpoints(candidate))


def _typed_checkpoints(candidate: Candidate) -> Iterator[CheckpointSpec]:
    for reference, typed in candidate.scenario.regularities.items():
        if reference in candidate.asked:
            answer, rule = candidate.typed[reference], None
            if typed.parameter:
                rule = {"argument": typed.parameter, "equals": answer.plain, "type": KINDS[answer.answer]}
                rule |= {"within": float(answer.tolerance)} if rule["type"] in MEASURED else {}
            made = _preference(candidate, reference, answer.fill(typed.checkpoint), rule)
            yield replace(made, answer=answer.answer, tolerance=float(answer.tolerance))


def _call_checkpoints(candidate: Candidate) -> tuple[CheckpointSpec, ...]:
    scenario, slots = candidate.scenario, candidate.slots
    if scenario.tools is None or scenario.items is None:
        raise ValueError(f"scenario {candidate.reference} has no tools")
    item = scenario.tools.item_argument
    found = [
        CheckpointSpec("task", f"{tool.name} is called once.", {"committed": tool.name})
        for tool in scenario.tools.commits
    ]
    for name, parameter in scenario.tools.arguments.items():
        rule = {"argument": name, "type": parameter.format or parameter.type}
        if parameter.equals is not None:
            rule["equals"] = fill(parameter.equals, slots)
        elif parameter.agrees is not None:
            rule |= {"like_field": parameter.agrees, "item_argument": item}
        else:
            continue
        found.append(CheckpointSpec("task", fill(parameter.checkpoint or "", slots), rule))
    for check in scenario.items.checkpoints:
        rule = {"item_field": check.field, "equals": fill(check.equals, slots), "item_argument": item}
        found.append(CheckpointSpec("task", fill(check.checkpoint, slots), rule))
    for name, decided in scenario.decided_parameters.items():
        found += _decided(candidate, decided, {"argument": name, "type": "string"})
    for name, decided_field in scenario.decided_fields.items():
        found += _decided(candidate, decided_field, {"item_field": name, "item_argument": item})
    return (*found, *_typed_checkpoints(candidate))


def _decided(candidate: Candidate, decided: Any, rule: dict[str, Any]) -> list[CheckpointSpec]:
    resolved = candidate.asked.get(decided.dimension)
    if resolved is None:
        return []
    option = decided.options[resolved.value]
    text = decided.checkpoint.replace("{option}", option)
    return [_preference(candidate, decided.dimension, text, {**rule, "equals": option})]
