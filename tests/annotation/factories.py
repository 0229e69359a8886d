"""A small run, written straight into the database: two personas, a call and a text each, graded by rules and judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db.models import F

from agents.contract import Action, ActionKind, Stage, Step, StepKind, Termination
from agents.contract import Trajectory as Recorder
from agents.contract.serialise import to_json
from annotation.models import Assignment, Batch, Place
from bench.grading.store import append_verdicts, rubric_version, rule_verdicts, score_trajectories
from bench.models import (
    Checkpoint,
    Dataset,
    Domain,
    Event,
    Persona,
    Run,
    Scenario,
    Task,
    Trajectory,
    Unit,
    UnitStatus,
    Verdict,
)
from bench.texts import text_sha256
from tests.kept import start_from

AS_OF = datetime(2025, 3, 14, 18, 30, tzinfo=UTC)
PANEL = ("judge-north", "judge-east", "judge-south")
MODEL = "secretmodel-9b"
METHODS = ("iba", "rag")
ROLES = {
    "ada": "admin",
    "otto": "adjudicator",
    "ann": "annotator",
    "ben": "annotator",
    "cleo": "annotator",
    "vera": "viewer",
    "olga": None,
}
ITEMS = [
    {"id": "RES-101", "title": "Linden Room", "seats": 2, "starts": "19:30", "kitchen": "soups and braises"},
    {"id": "RES-202", "title": "Crackling Oven", "seats": 2, "starts": "20:00", "kitchen": "crusts and cold cuts"},
]
PLAN = (
    "Start with a leek soup, then braised lamb that falls off the bone.\n\nFor afters, a baked pear. "
    "Everything can be eaten on the right side only."
)


def make_cast() -> dict[str, object]:
    """ada (admin), otto (adjudicator), ann, ben and cleo (annotators), vera (viewer), olga (in no group)."""
    cast = {}
    for name, role in ROLES.items():
        person = get_user_model().objects.create_user(name, password=None)
        if role:
            person.groups.add(Group.objects.get(name=role))
        cast[name] = person
    return cast


def make_run(*, methods: Sequence[str] = METHODS, personas: int = 2, humans_required: int = 2) -> Run:
    """Every unit acted and was graded: all checkpoints pass by rule or by three judges."""
    key = ("make_run", tuple(methods), personas, humans_required)
    return start_from(key, lambda: _make_run(methods, personas, humans_required))


def _make_run(methods: Sequence[str], personas: int, humans_required: int) -> Run:
    dataset = Dataset.objects.create(
        name="small", version=1, sha256="0" * 64, seed=7, size="2", noise=0.3, author="procedural",
        data_version="1", complete=True,
    )  # fmt: skip
    manifest = {
        "methods": list(methods),
        "repeats": 1,
        "judges": [{"slug": name} for name in PANEL],
        "limits": {},
        "prompts": {},
        "rubric_version": rubric_version(),
        "policy": {"version": "1", "panel": list(PANEL), "humans_required": humans_required},
    }
    run = Run.objects.create(
        dataset=dataset, status="done", manifest=manifest, manifest_sha256="0" * 64, simulated=True, model=MODEL
    )
    domain = Domain.objects.create(slug="dining", name="Dining", summary="Meals.", position=1, data_version="1")
    book = _scenario(domain, "book_table", "Book a table", "call_api")
    plan = _scenario(domain, "plan_meal", "Plan a meal", "generate")
    for number in range(personas):
        persona = Persona.objects.create(dataset=dataset, slug=f"p{number}", name=f"Person {number}", split="test")
        events = [_event(persona, 0, 3, "calendar", "09:40 Dr. Okafor, crown comes off, keep left side free after"),
                  _event(persona, 1, 1, "review", "Soup again. My jaw says thank you.")]  # fmt: skip
        for task in (_booking(persona, book, events), _meal(persona, plan, events)):
            for method in methods:
                act(run, task, method)
    return run


def _scenario(domain: Domain, slug: str, name: str, kind: str) -> Scenario:
    return Scenario.objects.create(
        domain=domain, slug=slug, name=name, summary=name, action_kind=kind, data_version="1"
    )


def _event(persona: Persona, position: int, days_before: int, channel: str, text: str) -> Event:
    return Event.objects.create(
        persona=persona, position=position, occurred_at=AS_OF - timedelta(days=days_before), channel=channel,
        text=text, text_sha256=text_sha256(text),
    )  # fmt: skip


def _booking(persona: Persona, scenario: Scenario, events: Sequence[Event]) -> Task:
    tools = [
        {"name": "find_tables", "description": "Finds tables.", "commits": False, "parameters": {"type": "object"}},
        {"name": "book_table", "description": "Books one.", "commits": True, "parameters": {"type": "object"}},
    ]
    world = {"items": ITEMS, "filters": {}, "item_argument": "table_id"}
    task = Task.objects.create(
        persona=persona, scenario=scenario, slug="friday", request="Somewhere for Friday with Ana?", as_of=AS_OF,
        tools=tools, world=world,
    )  # fmt: skip
    _checkpoint(task, 0, "task", "A table was booked.", {"committed": "book_table"})
    _checkpoint(task, 1, "task", "The table is for 2 people.", {"argument": "party", "equals": 2})
    soft = {"item_field": "kitchen", "equals": "soups and braises", "item_argument": "table_id"}
    text = "The place serves food that needs no chewing on one side (crown removed on 11 March)."
    _checkpoint(task, 2, "preference", text, soft).evidence.set(events)
    return task


def _meal(persona: Persona, scenario: Scenario, events: Sequence[Event]) -> Task:
    task = Task.objects.create(
        persona=persona, scenario=scenario, slug="meal", request="What do I cook for Ana on Friday?", as_of=AS_OF
    )
    _checkpoint(task, 0, "task", "The plan names at least two courses.", None)
    _checkpoint(task, 1, "preference", "No course needs chewing on the left side.", None).evidence.set(events)
    return task


def _checkpoint(task: Task, position: int, kind: str, text: str, rule: Mapping[str, object] | None) -> Checkpoint:
    dimension = "dining.texture" if kind == "preference" else ""
    return Checkpoint.objects.create(
        task=task,
        position=position,
        kind=kind,
        text=text,
        rule=rule,
        dimension=dimension,
        value="soft" if dimension else "",
    )


def act(run: Run, task: Task, method: str) -> Trajectory:
    """A scored unit with its trajectory; steps name method and model, as real ones do."""
    unit = Unit.objects.create(run=run, task=task, method=method, status=UnitStatus.SCORED)
    arguments = {"table_id": "RES-101", "party": 2}
    calls = bool(task.tools)
    action = (
        Action(ActionKind.CALL_API, tool="book_table", arguments=arguments)
        if calls
        else Action(ActionKind.GENERATE, text=PLAN)
    )
    course = Recorder(Termination.COMPLETED, steps=_steps(method, calls, arguments), action=action)
    trajectory = Trajectory.objects.create(
        unit=unit, termination="completed", data=to_json(course),
        committed=[{"tool": "book_table", "arguments": arguments}] if calls else [],
    )  # fmt: skip
    append_verdicts(rule_verdicts(trajectory))
    judge(trajectory, dict.fromkeys(PANEL, "pass"))
    return trajectory


def _steps(method: str, calls: bool, arguments: dict[str, object]) -> tuple[Step, ...]:
    hidden = (
        Step(Stage.RETRIEVE, StepKind.SEARCH, f"{method} ran 7 searches", {}),
        Step(Stage.ACT, StepKind.MODEL, f"Asked {MODEL}.", {"reply": f"I am {MODEL}"}),
        Step(
            Stage.ACT,
            StepKind.TOOL,
            "Called search_history.",
            {"tool": "search_history", "arguments": {"query": "jaw"}},
        ),
        Step(Stage.ALIGN, StepKind.CODE, "1 of 4 constraints hold here and now.", {}),
    )
    if not calls:
        return hidden
    found = {"tool": "find_tables", "arguments": {"day": "Friday"}, "ok": True, "accepted": False}
    made = {"tool": "book_table", "arguments": arguments, "ok": True, "accepted": True}
    return (
        *hidden,
        Step(Stage.ACT, StepKind.TOOL, "Called find_tables.", {**found, "content": {"items": ITEMS, "total": 2}}),
        Step(Stage.ACT, StepKind.TOOL, "Called book_table.", {**made, "content": {"confirmation": "done"}}),
    )


def judge(trajectory: Trajectory, values: Mapping[str, str], position: int | None = None) -> None:
    """Verdicts of judges on the text checkpoints (or on the one at ``position``), and the score anew."""
    checkpoints = trajectory.unit.task.checkpoints.filter(rule__isnull=True)
    if position is not None:
        checkpoints = checkpoints.filter(position=position)
    append_verdicts([
        Verdict(
            trajectory=trajectory, checkpoint=checkpoint, rubric_version=rubric_version(), source="judge", name=name,
            value=value, rationale=f"{name} thinks {value}", simulated=True,
        )
        for checkpoint in checkpoints
        for name, value in values.items()
    ])  # fmt: skip
    score_trajectories([trajectory.pk])


def grade(trajectory: Trajectory, rater: Any, values: Mapping[int, str], anchor: str = "") -> None:
    """A rater's verdicts, position -> value."""
    rows = [
        Verdict(
            trajectory=trajectory, checkpoint=trajectory.unit.task.checkpoints.get(position=position), source="human",
            rubric_version=rubric_version(), name=rater.username, rater=rater, value=value, rationale=f"I say {value}",
            anchor=anchor,
        )
        for position, value in values.items()
    ]  # fmt: skip
    append_verdicts(rows)
    score_trajectories([trajectory.pk])


def seat(
    batch: Batch, trajectory: Trajectory, rater: Any, *, until: datetime, committed: datetime | None = None
) -> Assignment:
    """The rater at a place of the batch, whatever the queue would have handed out."""
    Place.objects.filter(batch=batch, trajectory=trajectory).update(taken=F("taken") + 1)
    return Assignment.objects.create(
        batch=batch, trajectory=trajectory, rater=rater, lease_until=until, committed_at=committed
    )
