"""A large graded run to measure on: 10,000 trajectories x 6 checkpoints x 5 sources, to be rolled back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random

from django.contrib.auth.models import User

from agents.contract import Action, ActionKind, Termination
from agents.contract import Trajectory as Course
from agents.serialise import to_json
from bench.models import (
    Checkpoint,
    Dataset,
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
from bench.scoring.judges import RUBRIC_VERSION

METHODS = ("iba", "rag", "recency", "no_history")
JUDGES = ("judge-a", "judge-b", "judge-c")
PERSONAS, TASKS_EACH, CHECKPOINTS = 100, 25, 6
BATCH = 5000
AS_OF = datetime(2026, 1, 1, tzinfo=UTC)


def large_run() -> Run:
    """Write it and return the run. Every second checkpoint is a preference; verdicts are drawn with a fixed seed."""
    rng = Random(1)  # noqa: S311 (reproducible draws)
    scenarios = list(Scenario.objects.filter(action_kind="generate").order_by("pk"))
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
    personas = Persona.objects.bulk_create(
        Persona(dataset=dataset, slug=f"p{n}", name=f"p{n}", split="test") for n in range(PERSONAS)
    )
    tasks = Task.objects.bulk_create(
        (
            Task(persona=p, scenario=scenarios[n % len(scenarios)], slug=f"t{n}", request="x", as_of=AS_OF)
            for p in personas
            for n in range(TASKS_EACH)
        ),
        batch_size=BATCH,
    )
    checkpoints = Checkpoint.objects.bulk_create(list(_checkpoints(tasks)), batch_size=BATCH)
    trajectories = _trajectories(run, tasks)
    raters = [User.objects.create_user(f"perf-rater-{n}") for n in range(2)]
    by_task: dict[int, list[Checkpoint]] = {}
    for checkpoint in checkpoints:
        by_task.setdefault(checkpoint.task_id, []).append(checkpoint)
    Verdict.objects.bulk_create(_verdicts(trajectories, by_task, raters, rng), batch_size=BATCH)
    return run


def _checkpoints(tasks: list[Task]) -> Iterator[Checkpoint]:
    for task in tasks:
        for n in range(CHECKPOINTS):
            dimension = "dining.spice" if n % 2 else ""
            kind = "preference" if n % 2 else "task"
            yield Checkpoint(task=task, position=n, kind=kind, text=f"fact {n}", dimension=dimension, value="mild")


def _trajectories(run: Run, tasks: list[Task]) -> list[Trajectory]:
    units = Unit.objects.bulk_create(
        (Unit(run=run, task=task, method=method, status=UnitStatus.SCORED) for task in tasks for method in METHODS),
        batch_size=BATCH,
    )
    action = Action(ActionKind.GENERATE, text="A text of some length. " * 20)
    data = to_json(Course(Termination.COMPLETED, action=action))
    return Trajectory.objects.bulk_create(
        (Trajectory(unit=unit, termination="completed", data=data) for unit in units), batch_size=BATCH
    )


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
