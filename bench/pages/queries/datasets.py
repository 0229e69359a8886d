"""Datasets, their personas and histories."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import Count, Q, QuerySet

from bench.models import Dataset, Erratum, Event, Persona, Task

_WHEN = re.compile(r"([12][0-9]{3})(?:-(0[1-9]|1[0-2]))?")


def newest_of_each() -> list[Dataset]:
    """The newest complete version under each name, with the number of its runs. One query."""
    found: dict[str, Dataset] = {}
    for dataset in Dataset.objects.filter(complete=True).annotate(run_count=Count("runs")).order_by("name", "-version"):
        found.setdefault(dataset.name, dataset)
    return list(found.values())


def versions(name: str) -> QuerySet[Dataset]:
    return Dataset.objects.filter(name=name, complete=True).annotate(run_count=Count("runs")).order_by("-version")


def retired(dataset: Dataset) -> QuerySet[Erratum]:
    """Every erratum of this version, the newest first; those that were put back too."""
    return dataset.errata.select_related("checkpoint__task")


def personas(dataset: Dataset) -> QuerySet[Persona]:
    return dataset.personas.annotate(
        event_count=Count("events", distinct=True), task_count=Count("tasks", distinct=True)
    ).order_by("slug")


def tasks_by_domain(dataset: Dataset) -> list[Mapping[str, Any]]:
    rows: Iterable[Mapping[str, Any]] = (
        Task.objects.of_dataset(dataset.pk)
        .order_by()
        .values("scenario__domain__slug", "scenario__domain__name", "scenario__domain__position")
        .annotate(
            tasks=Count("pk"),
            api=Count("pk", filter=Q(scenario__action_kind="call_api")),
            scenarios=Count("scenario", distinct=True),
        )
    )
    return sorted(rows, key=lambda row: row["scenario__domain__position"])


def history(
    persona: Persona, *, gold: bool, channel: str = "", role: str = "", words: str = "", when: str = ""
) -> QuerySet[Event]:
    """Events in order of time; labels are fetched only for those who may see gold.

    ``when`` is a year or a month, "2025" or "2025-03"; anything else narrows nothing.
    """
    events = Event.objects.filter(persona=persona).order_by("position")
    if gold:
        events = events.select_related("label")
        if role:
            events = events.filter(label__role=role)
    if channel:
        events = events.filter(channel=channel)
    if words:
        events = events.filter(text__icontains=words)
    if found := _WHEN.fullmatch(when):
        events = events.filter(occurred_at__year=int(found[1]))
        if found[2]:
            events = events.filter(occurred_at__month=int(found[2]))
    return events


def channels(persona: Persona) -> list[str]:
    return sorted(Event.objects.filter(persona=persona).order_by().values_list("channel", flat=True).distinct())
