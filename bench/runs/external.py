"""An agent anywhere: it fetches tasks without gold, searches and calls tools on our side, and submits its action.

The budget is the same as for agents that run here: ``Limits.evidence_events`` different events a task, at most.
Everything is kept, so a client may die and go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from agents.contract import JSON, Action, ActionKind, Engine, Evidence, Limits, Step, Termination, ToolResult, Usage
from agents.contract import Trajectory as Course
from agents.registry import resolve
from agents.toolkit.budget import evidence_tokens
from bench.models import ExternalSession, Run, Unit, UnitStatus
from bench.runs.execute import store_course
from bench.runs.inputs import search_for, task_input
from bench.runs.world import ToolWorld, tool_specs_of

LEASE = timedelta(hours=2)
MAX_TEXT = 20_000
MAX_STEPS = 200


class ExternalError(ValueError):
    """The client asked for something that its unit does not allow; the message says what and why."""


def next_unit(run: Run, client: str) -> Unit | None:
    """The unit this client holds already, else the next free one; None where all are done or held by others."""
    units = Unit.objects.filter(run=run)
    held = units.filter(status=UnitStatus.RUNNING, claimed_by=client).order_by("pk").first()
    if held is not None:
        return held
    with transaction.atomic():
        free = units.filter(status=UnitStatus.QUEUED).select_for_update(skip_locked=True).order_by("pk").first()
        if free is None:
            return None
        units.filter(pk=free.pk).update(
            status=UnitStatus.RUNNING,
            claimed_by=client,
            lease_until=timezone.now() + LEASE,
            attempts=F("attempts") + 1,
        )
        ExternalSession.objects.get_or_create(unit=free)
        free.refresh_from_db()
    return free


def describe(unit: Unit) -> JSON:
    """The task as an agent here would get it. The vocabulary is the same for all and is fetched once."""
    task = asdict(task_input(unit.task))
    del task["vocabulary"]
    limits = Limits(**unit.run.manifest["limits"])
    session = unit.external
    return {
        "unit": unit.pk,
        "task": task,
        "limits": {"evidence_events": limits.evidence_events, "tool_calls": limits.tool_calls},
        "evidence_served": session.served,
        "committed": session.committed,
    }


def held_unit(unit_id: int, client: str) -> Unit:
    """The unit, if this client holds it. Raises ExternalError else."""
    unit = Unit.objects.select_related("run", "task__scenario__domain", "external").filter(pk=unit_id).first()
    if unit is None or unit.claimed_by != client or unit.status != UnitStatus.RUNNING:
        raise ExternalError(f"unit {unit_id} is not yours at the moment; fetch the next task")
    Unit.objects.filter(pk=unit_id).update(lease_until=timezone.now() + LEASE)
    return unit


def search(unit: Unit, query: str, k: int, engine: Engine) -> list[JSON]:
    """Up to ``k`` events; those that would break the budget are held back. Raises ExternalError once it is used up."""
    limits = Limits(**unit.run.manifest["limits"])
    history = search_for(resolve(unit.method), unit.task, transfer=unit.run.manifest.get("transfer", False))
    found = history(query, k=k, engine=engine)
    with transaction.atomic():
        session = ExternalSession.objects.select_for_update().get(unit=unit)
        served = {entry["event_id"]: entry for entry in session.served}
        allowed = [e for e in found if e.event_id in served]
        for event in (e for e in found if e.event_id not in served):
            tokens = evidence_tokens([*map(_evidence, served.values()), event])
            if len(served) < limits.evidence_events and tokens <= limits.evidence_tokens:
                served[event.event_id] = _entry(event)
                allowed.append(event)
        if found and not allowed:
            raise ExternalError(f"the budget of {limits.evidence_events} events is used up for unit {unit.pk}")
        session.served = list(served.values())
        session.save(update_fields=["served"])
    return [served[event.event_id] for event in found if event in allowed]


def _entry(event: Evidence) -> JSON:
    return {
        "event_id": event.event_id,
        "occurred_at": event.occurred_at.isoformat(),
        "channel": event.channel,
        "text": event.text,
    }


def _evidence(entry: JSON) -> Evidence:
    moment = datetime.fromisoformat(entry["occurred_at"])
    return Evidence(entry["event_id"], moment, entry["channel"], entry["text"])


def call_tool(unit: Unit, name: str, arguments: JSON) -> ToolResult:
    """Run one tool of the task. The committing call is remembered; it counts once it was accepted."""
    limits = Limits(**unit.run.manifest["limits"])
    with transaction.atomic():
        session = ExternalSession.objects.select_for_update().get(unit=unit)
        if session.tool_calls >= limits.tool_calls:
            raise ExternalError(f"unit {unit.pk} has used its {limits.tool_calls} tool calls")
        world = ToolWorld(tool_specs_of(unit.task), unit.task.world, unit.task.as_of, list(session.committed))
        result = world(name, arguments)
        session.committed, session.tool_calls = world.committed, session.tool_calls + 1
        session.save(update_fields=["committed", "tool_calls"])
    return result


def submit(unit: Unit, client: str, *, text: str, steps: Sequence[JSON], usage: Usage, gave_up: str = "") -> None:
    """Store the trajectory and hand it to rules and judges. Raises ExternalError where something does not fit."""
    kind = ActionKind(unit.task.scenario.action_kind)
    session = unit.external
    if len(text) > MAX_TEXT or len(steps) > MAX_STEPS:
        raise ExternalError(f"at most {MAX_TEXT} characters of text and {MAX_STEPS} steps are taken")
    action: Action | None = None
    if kind is ActionKind.CALL_API and session.committed:
        last = session.committed[-1]
        action = Action(kind, tool=last["tool"], arguments=last["arguments"])
    elif kind is ActionKind.GENERATE and text.strip():
        action = Action(kind, text=text)
    elif not gave_up:
        need = "a text" if kind is ActionKind.GENERATE else "an accepted committing call first"
        raise ExternalError(f"unit {unit.pk} needs {need}; or say in gave_up why there is none")
    course = Course(
        termination=Termination.COMPLETED if action else Termination.NO_ACTION,
        steps=tuple(Step(s["stage"], s["kind"], s["summary"], s.get("data", {})) for s in steps),
        evidence=tuple(map(_evidence, session.served)),
        action=action,
        usage=usage,
        error=gave_up,
    )
    store_course(unit, client, course, session.committed, (timezone.now() - session.created_at).total_seconds())


def as_json(result: ToolResult) -> dict[str, Any]:
    return {"ok": result.ok, "accepted": result.accepted, **result.content}
