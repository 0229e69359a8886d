"""Plain retrieval, and the order in which events are shown."""

from __future__ import annotations

from collections.abc import Iterable

from agents.contract import Evidence, Limits, Search, Stage, Step, StepKind, TaskInput
from agents.toolkit.budget import fit


def by_time(events: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """Oldest first, as a prompt shows them."""
    return tuple(sorted(events, key=lambda event: (event.occurred_at, event.event_id)))


def retrieve_plainly(task: TaskInput, *, search: Search, limits: Limits) -> tuple[tuple[Evidence, ...], Step]:
    """What common RAG does: the request is the query."""
    found = search(task.request, k=limits.evidence_events)
    evidence = by_time(fit(found, limits))
    data = {"queries": [task.request], "kept": [item.event_id for item in evidence]}
    summary = f"Searched the history with the request: {len(evidence)} events."
    return evidence, Step(Stage.RETRIEVE, StepKind.SEARCH, summary, data)
