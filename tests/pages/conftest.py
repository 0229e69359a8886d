"""A small world for the pages: two domains, two scenarios, one persona, and the cast that looks at them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from bench.models import (
    Checkpoint,
    Dataset,
    Dimension,
    Domain,
    Endpoint,
    Event,
    EventLabel,
    Persona,
    Run,
    Scenario,
    Task,
    Trajectory,
)
from bench.runs.launch import plan_run, start
from bench.runs.spec import RunSpec
from bench.texts import text_sha256
from tests.kept import start_from
from tests.pages.acting import act_out

HOSTILE = '<script>alert("x")</script>'
START = datetime(2025, 1, 6, 9, 0, tzinfo=UTC)
JUDGES = ("judge-a", "judge-b", "judge-c")


def sign_in(role: str) -> Client:
    """A client of a person in that role; "outsider" is in no group."""
    user = User.objects.create_user(f"{role}-person")
    if role != "outsider":
        user.groups.add(Group.objects.get(name=role))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def admin(db):
    return sign_in("admin")


@pytest.fixture
def viewer(db):
    return sign_in("viewer")


@pytest.fixture
def adjudicator(db):
    return sign_in("adjudicator")


@pytest.fixture
def annotator(db):
    return sign_in("annotator")


@pytest.fixture
def outsider(db):
    return sign_in("outsider")


def make_dataset(name: str = "small", sha: str = "a") -> Dataset:
    """Three personas; each has a dinner to write and a table to book; a preference checkpoint an event."""
    dataset = Dataset.objects.create(
        name=name, version=1, sha256=sha * 64, seed=1, size="3", noise=0.5, author="procedural",
        data_version="test", complete=True,
        summary={"personas": 3, "events": 9, "tasks": 6, "api_tasks": 3, "checkpoints": 18, "conflicts": {"drift": 6}},
    )  # fmt: skip
    scenarios = [_scenario("dining", 0, "plan_meal", "generate"), _scenario("travel", 1, "book_train", "call_api")]
    for number in range(3):
        persona = Persona.objects.create(
            dataset=dataset, slug=f"{name}-p{number}", name=f"Person {number}", split="test",
            background={"age": 40 + number, "job": "baker"}, traits=[{"dimension": "dining.spice", "value": "mild"}],
        )  # fmt: skip
        events = _events(persona)
        for scenario in scenarios:
            _task(persona, scenario, events)
    return dataset


def _scenario(domain: str, position: int, slug: str, action_kind: str) -> Scenario:
    row, _ = Domain.objects.get_or_create(
        slug=domain,
        defaults={"name": domain.title(), "summary": "A domain.", "position": position, "data_version": "test"},
    )
    Dimension.objects.get_or_create(
        domain=row,
        slug="spice",
        defaults={"name": "Spice", "question": "How hot?", "options": [], "data_version": "test"},
    )
    scenario, _ = Scenario.objects.get_or_create(
        domain=row, slug=slug,
        defaults={"name": slug.title(), "summary": "", "action_kind": action_kind, "data_version": "test"},
    )  # fmt: skip
    return scenario


def _events(persona: Persona) -> list[Event]:
    texts = (f"Ana finished mine {HOSTILE}", "Rice and a litre of water.", "Lost keys again.")
    events = []
    for position, text in enumerate(texts):
        event = Event.objects.create(
            persona=persona, position=position, occurred_at=START + timedelta(days=position), channel="device_log",
            text=text, text_sha256=text_sha256(text),
        )  # fmt: skip
        role = "everyday" if position == 2 else "cue"
        EventLabel.objects.create(event=event, role=role, dimension="dining.spice", value="mild", why="goldlabel")
        events.append(event)
    return events


def _task(persona: Persona, scenario: Scenario, events: list[Event]) -> Task:
    task = Task.objects.create(
        persona=persona, scenario=scenario, slug=f"{persona.slug}-{scenario.slug}",
        request=f"Somewhere for Friday with Ana? {HOSTILE}", as_of=START + timedelta(days=30),
    )  # fmt: skip
    calls = scenario.action_kind == "call_api"
    rule = {"argument": "party", "equals": 2} if calls else None
    Checkpoint.objects.create(task=task, position=0, kind="task", text="It is for two.", rule=rule)
    for position, dimension, conflict, tier in ((1, "spice", "", "combined"), (2, "tone", "drift", "direct")):
        checkpoint = Checkpoint.objects.create(
            task=task, position=position, kind="preference", text=f"The soup is mild {HOSTILE}", rule=rule,
            dimension=f"{scenario.domain.slug}.{dimension}", value="mild", conflict=conflict, tier=tier,
        )  # fmt: skip
        checkpoint.evidence.set([events[position - 1]])
    return task


def make_endpoints() -> None:
    for slug in ("qwen", *JUDGES):
        Endpoint.objects.get_or_create(
            slug=slug, defaults={"base_url": "http://127.0.0.1:9/v1", "model": slug, "family": slug}
        )


def make_run(dataset: Dataset, methods=("iba", "rag"), *, model: str = "qwen") -> Run:
    """Planned, with all of its units queued; the queue itself hears nothing of it."""
    make_endpoints()
    return start(plan_run(RunSpec(dataset=dataset.name, methods=list(methods), model=model, judges=list(JUDGES))))


def finish(run: Run, *, simulated: bool = False) -> Run:
    """iba loses nothing, every other method loses its second preference checkpoint at retrieval."""
    for unit in run.units.select_related("task__scenario", "run"):
        act_out(unit, {} if unit.method == "iba" else {2: "not_retrieved"}, rationale=f"Says so {HOSTILE}")
    Run.objects.filter(pk=run.pk).update(status="done", simulated=simulated, finished_at=START)
    return Run.objects.get(pk=run.pk)


def trajectory_of(run: Run, method: str, kind: str = "call_api") -> Trajectory:
    return Trajectory.objects.filter(unit__run=run, unit__method=method, unit__task__scenario__action_kind=kind).first()


@pytest.fixture
def dataset(db, request):
    return _as_far_as(request).dataset if "running" in request.fixturenames else start_from("dataset", make_dataset)


@pytest.fixture
def running(dataset):
    return Run.objects.get()


@pytest.fixture
def finished(running):
    return running


def _as_far_as(request: pytest.FixtureRequest) -> Run:
    """The run of the world, finished where the test asks for that."""
    if "finished" in request.fixturenames:
        return start_from("finished", lambda: finish(make_run(make_dataset())))
    return start_from("running", lambda: make_run(make_dataset()))
