"""A dataset's rows as plain JSON objects, in an order that never changes. Names of gold tables begin with gold_."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bench.models import Dataset, Dimension, Event, Scenario, Task

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """``columns``: name -> what it holds; those of type "json" are objects or lists."""

    about: str
    columns: Mapping[str, str]
    rows: Callable[[Dataset], Iterable[Row]]
    json: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    fractions: frozenset[str] = frozenset()
    switches: frozenset[str] = frozenset()


def lines(rows: Iterable[Row]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)


def _catalogue(dataset: Dataset) -> Iterator[Row]:
    """What the tasks presume to be known: scenarios, and dimensions with the public words of their options."""
    domains = {}
    of_version = {"data_version": dataset.data_version}
    for dimension in Dimension.objects.filter(**of_version).select_related("domain").order_by("domain__slug", "slug"):
        domains[dimension.domain.slug] = dimension.domain
        row = _entry("dimension", dimension.reference, dimension.name, dimension.question, "", dimension.options)
        yield {**row, "answer": dimension.answer}
    for scenario in Scenario.objects.filter(**of_version).select_related("domain").order_by("domain__slug", "slug"):
        domains[scenario.domain.slug] = scenario.domain
        yield _entry("scenario", str(scenario), scenario.name, scenario.summary, scenario.action_kind, [])
    for slug in sorted(domains):
        yield _entry("domain", slug, domains[slug].name, domains[slug].summary, "", [])


def _entry(kind: str, reference: str, name: str, words: str, action_kind: str, options: Any) -> Row:
    return {
        "kind": kind,
        "reference": reference,
        "name": name,
        "words": words,
        "action_kind": action_kind,
        "options": options,
        "answer": "",
    }


def _personas(dataset: Dataset) -> Iterator[Row]:
    for persona in dataset.personas.order_by("slug"):
        yield {
            "persona": persona.slug,
            "name": persona.name,
            "split": persona.split,
            "background": persona.background,
            "roles": persona.roles,
        }


def _events(dataset: Dataset) -> Iterator[Row]:
    events = Event.objects.filter(persona__dataset=dataset).order_by("persona__slug", "position")
    fields = ("persona__slug", "position", "occurred_at", "channel", "session", "text")
    for persona, position, moment, channel, session, text in events.values_list(*fields).iterator():
        yield {
            "persona": persona,
            "position": position,
            "occurred_at": moment.isoformat(),
            "channel": channel,
            "session": session,
            "text": text,
        }


def _tasks(dataset: Dataset) -> Iterator[Row]:
    for task in Task.objects.of_dataset(dataset.pk).select_related("persona", "scenario__domain").order_by("slug"):
        yield {
            "task": task.slug,
            "persona": task.persona.slug,
            "scenario": str(task.scenario),
            "request": task.request,
            "as_of": task.as_of.isoformat(),
            "tools": task.tools,
            "world": task.world,
        }


def _lives(dataset: Dataset) -> Iterator[Row]:
    for persona in dataset.personas.order_by("slug"):
        yield {"persona": persona.slug, "traits": persona.traits, "states": persona.states}


def _labels(dataset: Dataset) -> Iterator[Row]:
    events = Event.objects.filter(persona__dataset=dataset, label__isnull=False).order_by("persona__slug", "position")
    for event in events.select_related("persona", "label").iterator():
        label = event.label
        yield {
            "persona": event.persona.slug,
            "position": event.position,
            "role": label.role,
            "dimension": label.dimension,
            "value": label.value,
            "group": label.group,
            "why": label.why,
        }


def _contexts(dataset: Dataset) -> Iterator[Row]:
    for task in Task.objects.of_dataset(dataset.pk).order_by("slug"):
        yield {"task": task.slug, "context": task.context}


def _checkpoints(dataset: Dataset) -> Iterator[Row]:
    tasks = Task.objects.of_dataset(dataset.pk).order_by("slug").prefetch_related("checkpoints__evidence")
    for task in tasks:
        for checkpoint in task.checkpoints.all():
            yield {
                "task": task.slug,
                "position": checkpoint.position,
                "kind": checkpoint.kind,
                "text": checkpoint.text,
                "rule": checkpoint.rule,
                "dimension": checkpoint.dimension,
                "value": checkpoint.value,
                "losing_values": checkpoint.losing_values,
                "conflict": checkpoint.conflict,
                "tier": checkpoint.tier,
                "answer": checkpoint.answer,
                "tolerance": checkpoint.tolerance,
                "retired": checkpoint.retired,
                "evidence": sorted(event.position for event in checkpoint.evidence.all()),
            }


PUBLIC: Mapping[str, Table] = {
    "catalogue": Table(
        "Domains, scenarios, and dimensions with the public words of their options.",
        {
            "kind": "domain, scenario or dimension",
            "reference": "its id",
            "name": "its name",
            "words": "a domain's or scenario's summary, a dimension's question",
            "action_kind": "of a scenario: generate (a text) or call_api",
            "options": "of a dimension: id, label and description of each value",
            "answer": "of a dimension with typed answers: amount, number, time or weekday",
        },
        _catalogue,
        json=frozenset({"options"}),
    ),
    "personas": Table(
        "Simulated people. None of them exists.",
        {
            "persona": "id",
            "name": "name",
            "split": "dev or test",
            "background": "age, work, household and other facts",
            "roles": "facts as words",
        },
        _personas,
        json=frozenset({"background", "roles"}),
    ),
    "events": Table(
        "The histories, oldest first.",
        {
            "persona": "whose",
            "position": "0-based, in order of time",
            "occurred_at": "ISO 8601, UTC",
            "channel": "where it was recorded",
            "session": "of imported dialogues; else empty",
            "text": "what stands there",
        },
        _events,
        numbers=frozenset({"position"}),
    ),
    "tasks": Table(
        "Requests at a moment of a life. An agent sees only events before as_of.",
        {
            "task": "id",
            "persona": "whose",
            "scenario": "domain and scenario",
            "request": "what is asked",
            "as_of": "ISO 8601, UTC",
            "tools": "specifications of the tools, empty for texts",
            "world": "the items behind the look-ups; never sent to an agent whole",
        },
        _tasks,
        json=frozenset({"tools", "world"}),
    ),
}
GOLD: Mapping[str, Table] = {
    "gold_lives": Table(
        "What each person prefers, and temporary states with their dates.",
        {"persona": "id", "traits": "long-term preferences", "states": "temporary states"},
        _lives,
        json=frozenset({"traits", "states"}),
    ),
    "gold_labels": Table(
        "What each event shows.",
        {
            "persona": "whose",
            "position": "of the event",
            "role": "cue, distractor, everyday and others",
            "dimension": "that it is about",
            "value": "that it shows, rules out or looks like",
            "group": "state or condition that it belongs to",
            "why": "of a distractor: why it shows nothing",
        },
        _labels,
        numbers=frozenset({"position"}),
    ),
    "gold_tasks": Table(
        "The condition that holds for a request.",
        {"task": "id", "context": "condition, empty for none"},
        _contexts,
    ),
    "gold_checkpoints": Table(
        "What an action is graded by.",
        {
            "task": "id",
            "position": "0-based",
            "kind": "task or preference",
            "text": "what must hold of the action",
            "rule": "how code decides it; null: judged by reading",
            "dimension": "of a preference",
            "value": "that holds",
            "losing_values": "values that held once or hold elsewhere",
            "conflict": "why the obvious reading would be wrong",
            "tier": "how much of the history settles it",
            "answer": "of a typed answer: amount, number, time or weekday",
            "tolerance": "how far such an answer may lie from the value",
            "retired": "found wrong; counted in no score",
            "evidence": "positions of the gold events",
        },
        _checkpoints,
        json=frozenset({"rule", "losing_values", "evidence"}),
        numbers=frozenset({"position"}),
        fractions=frozenset({"tolerance"}),
        switches=frozenset({"retired"}),
    ),
}
