"""A large graded run to measure on: 10,000 trajectories x 6 checkpoints x 5 sources, or fewer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random
from typing import Any

from django.contrib.auth.models import User
from django.db import connection

from agents.contract import (
    Action,
    ActionKind,
    Constraint,
    ConstraintStatus,
    Evidence,
    Stage,
    Step,
    StepKind,
    Termination,
)
from agents.contract import Trajectory as Course
from agents.contract.serialise import to_json
from bench.grading.judges import RUBRIC_VERSION
from bench.models import (
    Checkpoint,
    Dataset,
    Dimension,
    Event,
    Persona,
    Run,
    RunStatus,
    Scenario,
    Task,
    Trajectory,
    Unit,
    UnitStatus,
    Verdict,
)

METHODS = ("iba", "rag", "recency", "no_history")
JUDGES = ("judge-a", "judge-b", "judge-c")
PERSONAS, TASKS_EACH, CHECKPOINTS, EVENTS = 100, 25, 6, 40
CONSTRAINTS, STEPS = 8, 30
BATCH = 5000
TRAJECTORIES_A_BATCH = 250
STAGES = (Stage.RETRIEVE, Stage.THINK, Stage.ALIGN, Stage.PLAN, Stage.ACT, Stage.VERIFY)
AS_OF = datetime(2026, 1, 1, tzinfo=UTC)


def large_run(personas: int = PERSONAS) -> Run:
    """Write it and return the run. Every second checkpoint is a preference; verdicts are drawn with a fixed seed.

    Trajectories are as large as those of a real run: 35 kB with constraints, 13 kB without.
    """
    rng = Random(1)  # noqa: S311 (reproducible draws)
    scenarios = list(Scenario.objects.current().filter(action_kind="generate").order_by("pk"))
    if not scenarios:
        raise ValueError("the catalogue is not loaded; run `manage.py load_catalogue` first")
    dataset = Dataset.objects.create(
        name="perf", version=1, sha256="0" * 64, seed=1, size="100", noise=0, author="perf", data_version="perf"
    )
    run = Run.objects.create(
        dataset=dataset,
        status=RunStatus.DONE,
        manifest={
            "methods": list(METHODS),
            "repeats": 1,
            "seed": 1,
            "policy": {"version": "1", "panel": list(JUDGES)},
            "judges": [{"slug": judge} for judge in JUDGES],
            "rubric_version": RUBRIC_VERSION,
            "limits": {},
            "prompts": {},
        },
        manifest_sha256="0" * 64,
        simulated=True,
        model="offline",
    )
    people = Persona.objects.bulk_create(
        Persona(dataset=dataset, slug=f"p{n}", name=f"p{n}", split="test") for n in range(personas)
    )
    events = _events(people)
    tasks = Task.objects.bulk_create(
        (
            Task(persona=p, scenario=scenarios[n % len(scenarios)], slug=f"t{n}", request="x", as_of=AS_OF)
            for p in people
            for n in range(TASKS_EACH)
        ),
        batch_size=BATCH,
    )
    checkpoints = Checkpoint.objects.bulk_create(list(_checkpoints(tasks)), batch_size=BATCH)
    through = Checkpoint.evidence.through
    through.objects.bulk_create(
        (
            through(checkpoint=checkpoint, event=event)
            for checkpoint in checkpoints
            if checkpoint.kind == "preference"
            for event in events[checkpoint.task.persona_id][checkpoint.position : checkpoint.position + 2]
        ),
        batch_size=BATCH,
    )
    trajectories = _trajectories(run, tasks, events)
    raters = [User.objects.create_user(f"perf-rater-{n}") for n in range(2)]
    by_task: dict[int, list[Checkpoint]] = {}
    for checkpoint in checkpoints:
        by_task.setdefault(checkpoint.task_id, []).append(checkpoint)
    Verdict.objects.bulk_create(_verdicts(trajectories, by_task, raters, rng), batch_size=BATCH)
    analyze()
    return run


def analyze() -> None:
    """What the database does by itself within a minute of a large change; in a transaction nobody else can."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def _events(personas: list[Persona]) -> dict[int, list[Event]]:
    """Persona id -> its events in order."""
    rows = Event.objects.bulk_create(
        (
            Event(persona=p, position=n, occurred_at=AS_OF, channel="note", text=f"event {n}", text_sha256="")
            for p in personas
            for n in range(EVENTS)
        ),
        batch_size=BATCH,
    )
    found: dict[int, list[Event]] = {}
    for event in rows:
        found.setdefault(event.persona_id, []).append(event)
    return found


def _checkpoints(tasks: list[Task]) -> Iterator[Checkpoint]:
    dimensions: dict[int, list[str]] = {}
    for one in Dimension.objects.current().select_related("domain").order_by("pk"):
        dimensions.setdefault(one.domain_id, []).append(str(one))
    for task in tasks:
        here = dimensions[task.scenario.domain_id]
        for n in range(CHECKPOINTS):
            kind, dimension = ("preference", here[n % len(here)]) if n % 2 else ("task", "")
            yield Checkpoint(task=task, position=n, kind=kind, text=f"fact {n}", dimension=dimension, value="mild")


def _trajectories(run: Run, tasks: list[Task], events: dict[int, list[Event]]) -> list[Trajectory]:
    units = Unit.objects.bulk_create(
        (Unit(run=run, task=task, method=method, status=UnitStatus.SCORED) for task in tasks for method in METHODS),
        batch_size=BATCH,
    )
    found = []
    for at in range(0, len(units), TRAJECTORIES_A_BATCH):
        some = Trajectory.objects.bulk_create(
            Trajectory(unit=unit, termination="completed", data=_course(unit, events[unit.task.persona_id]))
            for unit in units[at : at + TRAJECTORIES_A_BATCH]
        )
        for trajectory in some:
            trajectory.data = {}  # written; ten thousand of them need not stay in memory
        found += some
    return found


def _course(unit: Unit, events: list[Event]) -> dict[str, Any]:
    """Half of the events retrieved; ``iba`` also draws constraints, right ones and stale ones, and plans them."""
    draws = unit.method == "iba"
    words = "Read the history from the newest event to the oldest and noted what bears on the request. "
    evidence = tuple(Evidence(str(e.pk), AS_OF, e.channel, words * 4, 0.5) for e in events[:: 2 if draws else 3])
    constraints = tuple(
        Constraint(
            f"c{n}",
            text=words * 3,
            about=f"matter {n}",
            value="mild" if n % 2 else "hot",
            evidence=(evidence[n].event_id,),
            status=ConstraintStatus.ACTIVE,
        )
        for n in range(CONSTRAINTS if draws else 0)
    )
    steps = tuple(Step(STAGES[n % len(STAGES)], StepKind.CODE, words * 5) for n in range(STEPS if draws else 3))
    plan = tuple(c.constraint_id for c in constraints)
    action = Action(ActionKind.GENERATE, text="A text of some length. " * 40)
    return to_json(Course(Termination.COMPLETED, steps, evidence, constraints, plan, action))


def _verdicts(
    trajectories: list[Trajectory], by_task: dict[int, list[Checkpoint]], raters: list[User], rng: Random
) -> Iterator[Verdict]:
    for trajectory in trajectories:
        for checkpoint in by_task[trajectory.unit.task_id]:
            likely = "pass" if rng.random() < 0.7 else "fail"
            for judge in JUDGES:
                yield _verdict(trajectory, checkpoint, "judge", judge, likely, rng)
            for rater in raters:
                yield _verdict(trajectory, checkpoint, "human", rater.username, likely, rng, rater)


def _verdict(
    trajectory: Trajectory,
    checkpoint: Checkpoint,
    source: str,
    name: str,
    likely: str,
    rng: Random,
    rater: User | None = None,
) -> Verdict:
    value = likely if rng.random() < 0.9 else {"pass": "fail", "fail": "pass"}[likely]
    return Verdict(
        trajectory=trajectory,
        checkpoint=checkpoint,
        rubric_version=RUBRIC_VERSION,
        source=source,
        name=name,
        rater=rater,
        value=value,
    )
