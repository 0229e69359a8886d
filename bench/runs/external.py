"""An agent anywhere: it fetches tasks without gold, searches and calls tools on our side, and submits its action.

The budget is the same as for agents that run here: ``Limits.evidence_events`` different events a task, at most.
Everything is kept, so a client may die and go on. What it was given and did is taken from our record; what it says of
itself is kept as claimed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Count, F
from django.utils import timezone

from agents.contract import (
    JSON,
    Action,
    ActionKind,
    Engine,
    Evidence,
    Limits,
    Stage,
    Step,
    StepKind,
    Termination,
    ToolResult,
    Usage,
)
from agents.contract import Trajectory as Course
from agents.registry import EXTERNAL, resolve
from agents.toolkit.budget import evidence_tokens
from agents.toolkit.reasoning import silenced
from bench.models import ExternalSession, Run, RunStatus, Trajectory, Unit, UnitStatus
from bench.runs.claim import stop
from bench.runs.execute import store_course
from bench.runs.fence import check_unread, has_read, hold_fence
from bench.runs.inputs import search_for, task_input
from bench.runs.world import ToolWorld, tool_specs_of

LEASE = timedelta(hours=2)
MAX_TEXT = 20_000
MAX_STEPS = 200
MAX_REQUESTS = 400  # searches and tool calls of one unit, those that found nothing included


class ExternalError(ValueError):
    """The client asked for something that its unit does not allow; the message says what and why."""


@dataclass(frozen=True, slots=True)
class Remaining:
    """What a unit may still see and call."""

    events: int
    tokens: int
    tool_calls: int


@dataclass(frozen=True, slots=True)
class Found:
    """``events``: what the client may see, best first. ``held_back``: how many the budget kept from it."""

    events: tuple[JSON, ...]
    held_back: int
    remaining: Remaining


@dataclass(frozen=True, slots=True)
class Stored:
    """What was taken of a submission."""

    trajectory: int
    action: str  # "text", "call" or "none"
    claimed_steps: int
    recorded_steps: int
    evidence: int
    judges_follow: bool


def is_external(run: Run) -> bool:
    return any(method.startswith(EXTERNAL) for method in run.manifest["methods"])


def check_open(run: Run, *, hold: bool = False) -> None:
    """Raises ExternalError while the run is paused and after it was cancelled.

    With ``hold`` a pause and a cancel wait until the transaction has ended, and one that is under way is waited for.
    """
    runs = Run.objects.select_for_update(no_key=True) if hold else Run.objects.all()
    status = runs.values_list("status", flat=True).get(pk=run.pk)
    if status == RunStatus.PAUSED:
        raise ExternalError(f"run {run.pk} is paused; go on once it was resumed")
    if status == RunStatus.CANCELLED:
        raise ExternalError(f"run {run.pk} was cancelled; nothing more is taken")


def progress(run: Run, client: str) -> JSON:
    """How far the run is, what the client holds and what is left."""
    units = Unit.objects.filter(run=run)
    count = {row["status"]: row["n"] for row in units.order_by().values("status").annotate(n=Count("pk"))}
    running = units.filter(status=UnitStatus.RUNNING)
    held = list(running.filter(claimed_by=client).order_by("pk").values("pk", "lease_until"))
    judged = (UnitStatus.ACTED, UnitStatus.JUDGING)
    return {
        "run": run.pk,
        "status": run.status,
        "dataset": str(run.dataset),
        "method": run.manifest["methods"][0],
        "model": run.model,
        "simulated": run.simulated,
        "gold_seen": run.gold_seen,
        "planned": sum(count.values()),
        "left": count.get(UnitStatus.QUEUED, 0),
        "held": [{"unit": row["pk"], "lease_until": row["lease_until"]} for row in held],
        "held_by_others": count.get(UnitStatus.RUNNING, 0) - len(held),
        "waiting_for_judges": sum(count.get(status, 0) for status in judged),
        **{name: count.get(name, 0) for name in (UnitStatus.SCORED, UnitStatus.FAILED, UnitStatus.CANCELLED)},
    }


def next_unit(run: Run, client: str, user: User) -> Unit | None:
    """The unit this client, a token of ``user``, holds already, else the next free one.

    None where all are done or held by others. Raises GoldWasRead; a run whose ``user`` had read the dataset's gold
    before it was opened is marked.
    """
    units = Unit.objects.filter(run=run)
    with transaction.atomic():
        hold_fence(user.pk, run.dataset_id)
        check_unread(run, user)
        with connection.cursor() as cursor:  # of two requests of one client, the second gets the same unit
            cursor.execute("SELECT pg_advisory_xact_lock(7412, hashtext(%s))", [f"{run.pk} {client}"])
        held = units.filter(status=UnitStatus.RUNNING, claimed_by=client).order_by("pk").first()
        if held is not None:
            check_open(run)
            return held
        check_open(run, hold=True)
        free = units.filter(status=UnitStatus.QUEUED).select_for_update(skip_locked=True).order_by("pk").first()
        if free is None:
            return None
        units.filter(pk=free.pk).update(
            status=UnitStatus.RUNNING,
            claimed_by=client,
            lease_until=timezone.now() + LEASE,
            attempts=F("attempts") + 1,
        )
        session, _ = ExternalSession.objects.get_or_create(unit=free)
        session.workers.add(user)
        if has_read(user.pk, run.dataset_id):
            Run.objects.filter(pk=run.pk).update(gold_seen=True)
        free.refresh_from_db()
    return free


def held_unit(unit_id: int, client: str) -> Unit:
    """The unit, if this client holds it and its run goes on. Raises ExternalError else."""
    unit = Unit.objects.select_related("run", "task__scenario__domain", "external").filter(pk=unit_id).first()
    mine = Unit.objects.filter(pk=unit_id, status=UnitStatus.RUNNING, claimed_by=client)
    if unit is None or not mine.update(lease_until=timezone.now() + LEASE):
        if Trajectory.objects.filter(unit_id=unit_id).exists():
            raise ExternalError(f"unit {unit_id} was submitted already; fetch the next task")
        if unit is not None:
            check_open(unit.run)
        raise ExternalError(f"unit {unit_id} is not yours at the moment; fetch the next task")
    check_open(unit.run)
    return unit


def describe(unit: Unit) -> JSON:
    """The task as an agent here would get it, and how far the client is with it."""
    task = task_input(unit.task)
    session = unit.external
    return {
        "unit": unit.pk,
        "task": {
            "task_id": task.task_id,
            "domain": task.domain,
            "scenario": task.scenario,
            "request": task.request,
            "as_of": task.as_of,
            "action_kind": task.action_kind.value,
            "tools": [asdict(tool) for tool in task.tools],
        },
        "limits": asdict(limits_of(unit)),
        "remaining": asdict(remaining(unit, session)),
        "evidence_served": session.served,
        "committed": session.committed,
    }


def limits_of(unit: Unit) -> Limits:
    return Limits(**unit.run.manifest["limits"])


def remaining(unit: Unit, session: ExternalSession) -> Remaining:
    limits = limits_of(unit)
    return Remaining(
        events=limits.evidence_events - len(session.served),
        tokens=limits.evidence_tokens - evidence_tokens([_evidence(entry) for entry in session.served]),
        tool_calls=limits.tool_calls - session.tool_calls,
    )


def search(unit: Unit, query: str, k: int, engine: Engine) -> Found:
    """Up to ``k`` events; those that would break the budget are held back. Raises ExternalError once it is used up."""
    limits = limits_of(unit)
    history = search_for(resolve(unit.method), unit.task, transfer=unit.run.manifest.get("transfer", False))
    found = history(query, k=k, engine=engine)
    with transaction.atomic():
        session = _open_session(unit)
        served = {entry["event_id"]: entry for entry in session.served}
        before, given = set(served), []
        for event in found:
            if event.event_id not in served:
                tokens = evidence_tokens([*map(_evidence, served.values()), event])
                if len(served) >= limits.evidence_events or tokens > limits.evidence_tokens:
                    continue
                served[event.event_id] = _entry(event)
            given.append({**_entry(event), "seen_before": event.event_id in before})
        if found and not given:
            raise ExternalError(
                f"the budget of {limits.evidence_events} events and {limits.evidence_tokens} tokens is used up "
                f"for unit {unit.pk}"
            )
        session.served = list(served.values())
        fresh = [event["event_id"] for event in given if not event["seen_before"]]
        session.record.append(
            _recorded("retrieve", "search", f"Searched the history: {len(given)} events, {len(fresh)} of them new.",
                      query=query, k=k, engine=engine.value, events=[event["event_id"] for event in given], new=fresh)
        )  # fmt: skip
        session.save(update_fields=["served", "record"])
    return Found(tuple(given), len(found) - len(given), remaining(unit, session))


def call_tool(unit: Unit, name: str, arguments: JSON) -> tuple[ToolResult, Remaining]:
    """Run one tool of the task. It costs a call where it found or did something; an accepted commit is remembered."""
    limits = limits_of(unit)
    with transaction.atomic():
        session = _open_session(unit)
        if session.tool_calls >= limits.tool_calls:
            raise ExternalError(f"unit {unit.pk} has used its {limits.tool_calls} tool calls")
        world = ToolWorld(tool_specs_of(unit.task), unit.task.world, unit.task.as_of, list(session.committed))
        result = world(name, arguments)
        session.committed, session.tool_calls = world.committed, session.tool_calls + result.ok
        session.record.append(
            _recorded("act", "tool", f"Called {name}.", tool=name, arguments=arguments, ok=result.ok,
                      accepted=result.accepted, content=result.content)
        )  # fmt: skip
        session.save(update_fields=["committed", "tool_calls", "record"])
    return result, remaining(unit, session)


def _open_session(unit: Unit) -> ExternalSession:
    """The unit's session, locked. Raises ExternalError once it took too many requests."""
    session = ExternalSession.objects.select_for_update().get(unit=unit)
    if len(session.record) >= MAX_REQUESTS:
        raise ExternalError(f"unit {unit.pk} has made its {MAX_REQUESTS} searches and calls; submit what you have")
    return session


def submit(unit: Unit, client: str, *, text: str, claimed: Sequence[Step], usage: Usage, gave_up: str = "") -> Stored:
    """Store the trajectory and hand it to rules and judges, once. Raises ExternalError where something does not fit.

    ``claimed``: what the agent says that it did. Its searches and tool calls come from our own record.
    """
    try:
        return _store(unit, client, text, claimed, usage, gave_up)
    except ExternalError:
        # The cancel left alone what was locked here; it ends now, and not when its lease does.
        if Run.objects.filter(pk=unit.run_id, status=RunStatus.CANCELLED).exists():
            stop(unit.pk, UnitStatus.RUNNING, client)
        raise


def _store(unit: Unit, client: str, text: str, claimed: Sequence[Step], usage: Usage, gave_up: str) -> Stored:
    with transaction.atomic():
        session = ExternalSession.objects.select_for_update().get(unit=unit)  # one submission at a time
        text, cut = silenced(text)
        action = _action(unit, session, text, gave_up)
        recorded = [read_step(step) for step in session.record]
        course = Course(
            termination=Termination.COMPLETED if action else Termination.NO_ACTION,
            steps=(*recorded, *cut, *map(_claimed, claimed)),
            evidence=tuple(map(_evidence, session.served)),
            action=action,
            usage=usage,
            error=gave_up,
        )
        wall_s = (timezone.now() - session.created_at).total_seconds()
        # The unit before its run, as everybody locks them who stores a trajectory.
        mine = Unit.objects.select_for_update().filter(pk=unit.pk, status=UnitStatus.RUNNING, claimed_by=client)
        still_mine = mine.exists()
        check_open(unit.run, hold=True)
        if not still_mine:
            raise ExternalError(f"unit {unit.pk} was submitted already or is not yours any more; fetch the next task")
        undecided = store_course(unit, client, course, session.committed, wall_s)
        stored = Trajectory.objects.filter(unit=unit).values_list("pk", flat=True).first()
        if stored is None:
            raise ExternalError(f"unit {unit.pk} went back to the queue while it was submitted; fetch the next task")
    judges_follow = undecided and bool(unit.run.manifest["policy"]["panel"])
    kind = "none" if action is None else "call" if action.kind is ActionKind.CALL_API else "text"
    return Stored(stored, kind, len(claimed), len(recorded), len(session.served), judges_follow)


def _action(unit: Unit, session: ExternalSession, text: str, gave_up: str) -> Action | None:
    kind = ActionKind(unit.task.scenario.action_kind)
    made = {call["tool"]: call["arguments"] for call in session.committed}  # of two the last
    left = [tool.name for tool in tool_specs_of(unit.task) if tool.commits and tool.name not in made]
    if not gave_up and (left or (kind is ActionKind.GENERATE and not text.strip())):
        need = "a text" if kind is ActionKind.GENERATE else f"an accepted call of {' and of '.join(left)} first"
        raise ExternalError(f"unit {unit.pk} needs {need}; or say in gave_up why there is none")
    if made:
        first, *then = made
        arguments = {name: value for call in made.values() for name, value in call.items()}
        return Action(kind, tool=first, arguments=arguments, then=tuple(then))
    return Action(kind, text=text) if kind is ActionKind.GENERATE and text.strip() else None


def _claimed(step: Step) -> Step:
    """What an agent says of itself stays apart from what we saw: a claimed look-up is none."""
    return Step(step.stage, step.kind, step.summary, {"claimed": True, **({"data": step.data} if step.data else {})})


def read_step(sent: JSON) -> Step:
    """A stage or kind that the contract does not know keeps its name in the data."""
    stage, kind = Stage(sent["stage"]), StepKind(sent["kind"])
    own = {name: sent[name] for name, known in (("stage", stage), ("kind", kind)) if known != sent[name]}
    return Step(stage, kind, sent["summary"], {**own, **sent["data"]})


def _recorded(stage: str, kind: str, summary: str, **data: object) -> JSON:
    return {"stage": stage, "kind": kind, "summary": summary, "data": data}


def _entry(event: Evidence) -> JSON:
    return {
        "event_id": event.event_id,
        "occurred_at": event.occurred_at.isoformat(),
        "channel": event.channel,
        "text": event.text,
        "score": round(event.score, 4),
    }


def _evidence(entry: Mapping[str, str]) -> Evidence:
    moment = datetime.fromisoformat(entry["occurred_at"])
    return Evidence(entry["event_id"], moment, entry["channel"], entry["text"], float(entry.get("score", 0)))
