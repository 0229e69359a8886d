"""From rows to what an agent may see. This is the border that gold does not cross."""

from __future__ import annotations

from typing import Unpack

from django.db import DatabaseError, InterfaceError

from agents.contract import (
    ActionKind,
    Evidence,
    Search,
    SearchOptions,
    SearchUnavailable,
    ServiceAway,
    TaskInput,
)
from agents.registry import AgentSpec
from bench.database import is_away, release_connection
from bench.models import Event, Task
from bench.runs.world import tool_specs_of
from bench.search import HistorySearch


def task_input(task: Task) -> TaskInput:
    """The public half of a task."""
    return TaskInput(
        task_id=str(task.pk),
        domain=task.scenario.domain.slug,
        scenario=task.scenario.name,
        request=task.request,
        as_of=task.as_of,
        action_kind=ActionKind(task.scenario.action_kind),
        tools=tool_specs_of(task),
    )


def search_for(spec: AgentSpec, task: Task, *, transfer: bool = False) -> Search:
    """The history up to the task's moment; for the oracle the gold events and nothing else.

    With ``transfer`` what the person showed in the task's own domain is hidden.
    """
    if spec.uses_gold:
        return _GoldSearch(task.pk)
    return HistorySearch(task.persona_id, task.as_of, hidden=task.scenario.domain.slug if transfer else "")


class _GoldSearch:
    """Answers every query with the gold events of the task, for the method that is marked as cheating."""

    def __init__(self, task_id: int) -> None:
        self._task_id = task_id

    def __call__(self, query: str, **options: Unpack[SearchOptions]) -> tuple[Evidence, ...]:
        from bench.models import Checkpoint

        through = Checkpoint.evidence.through
        gold = through.objects.filter(checkpoint__task_id=self._task_id).values("event_id")
        try:
            events = list(Event.objects.filter(pk__in=gold).order_by("-occurred_at", "-pk")[: options.get("k", 10)])
        except (DatabaseError, InterfaceError) as error:
            text = f"the gold events of task {self._task_id} cannot be read: {error}"
            raise (ServiceAway("PostgreSQL", text) if is_away(error) else SearchUnavailable(text)) from error
        finally:
            release_connection()
        return tuple(Evidence(str(e.pk), e.occurred_at, e.channel, e.text) for e in events)
