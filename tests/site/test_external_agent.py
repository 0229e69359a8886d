from __future__ import annotations

import time

import httpx
import pytest
from django.contrib.auth.models import Group, User

from bench.catalogue import load_catalogue
from bench.catalogue.store import store_catalogue
from bench.generation.build import Recipe, build_dataset
from bench.models import EventLabel, ExternalSession, Run, Trajectory, Unit, UnitStatus
from bench.runs.execute import judge
from bench.tokens import make_token
from examples import http_agent
from iba_site import services

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def client(live_server):
    services.ensure("embeddings", "offline")
    catalogue = load_catalogue()
    store_catalogue(catalogue)
    build_dataset(catalogue, Recipe("tiny", "tiny", seed=7), say=lambda text: None)
    user = User.objects.create_user("admin")
    user.groups.set([Group.objects.get(name="admin")])
    headers = {"Authorization": f"Bearer {make_token(user=user, name='test')}"}
    with httpx.Client(base_url=live_server.url, headers=headers, timeout=60) as found:
        yield found


def open_run(client: httpx.Client, limit: int = 4) -> int:
    answer = client.post("/api/external/runs", json={"name": "example", "dataset": "tiny", "limit": limit})
    assert answer.status_code == 201, answer.text
    return answer.json()["run"]


def test_the_example_client_works_through_all_tasks_and_is_graded(client: httpx.Client):
    run_id = open_run(client)
    assert http_agent.run(client, run_id) == 4
    deadline = time.monotonic() + 60
    while (left := Unit.objects.filter(run_id=run_id).exclude(status=UnitStatus.SCORED)).exists():
        assert time.monotonic() < deadline, list(left.values_list("status", "error"))
        for unit in left.filter(status=UnitStatus.ACTED):
            judge(unit.pk, "judge-of-this-test")  # a worker that another test left behind may be quicker
    cells = client.get(f"/api/runs/{run_id}/results").json()["cells"]
    assert (cells[0]["method"], cells[0]["planned"], cells[0]["evaluated"]) == ("external-example", 4, 4)


def test_a_client_that_died_is_given_the_same_unit_with_what_it_was_served(client: httpx.Client):
    run_id = open_run(client)
    first = client.post(f"/api/external/runs/{run_id}/next").json()
    served = client.post(f"/api/external/units/{first['unit']}/search", json={"query": "dinner", "k": 3}).json()[
        "events"
    ]
    again = client.post(f"/api/external/runs/{run_id}/next").json()
    assert again["unit"] == first["unit"]
    assert again["evidence_served"] == served


def test_no_more_events_are_served_than_the_budget_allows(client: httpx.Client):
    run_id = open_run(client, limit=1)
    given = client.post(f"/api/external/runs/{run_id}/next").json()
    seen: set[str] = set()
    for query in ("dinner", "train", "doctor", "money", "quiet", "lamp"):
        answer = client.post(f"/api/external/units/{given['unit']}/search", json={"query": query, "k": 40})
        seen |= {event["event_id"] for event in answer.json().get("events", [])}
    assert len(seen) <= given["limits"]["evidence_events"]
    assert all(event["occurred_at"] < given["task"]["as_of"] for event in again(client, run_id)["evidence_served"])


def test_a_run_of_transfer_serves_nothing_of_the_tasks_own_domain(client: httpx.Client):
    run = Run.objects.get(pk=open_run(client, limit=1))
    given = client.post(f"/api/external/runs/{run.pk}/next").json()
    domain = given["task"]["domain"]

    def own_domain_served(*, transfer: bool) -> bool:
        Run.objects.filter(pk=run.pk).update(manifest={**run.manifest, "transfer": transfer})
        ExternalSession.objects.update(served=[])
        query = {"query": given["task"]["request"], "k": 40}
        events = client.post(f"/api/external/units/{given['unit']}/search", json=query).json()["events"]
        assert events
        labels = EventLabel.objects.filter(event__in=[event["event_id"] for event in events])
        return labels.filter(dimension__startswith=f"{domain}.").exists()

    assert own_domain_served(transfer=False)
    assert not own_domain_served(transfer=True)


def again(client: httpx.Client, run_id: int) -> dict:
    return client.post(f"/api/external/runs/{run_id}/next").json()


def test_a_task_as_it_is_fed_holds_no_gold(client: httpx.Client):
    run_id = open_run(client, limit=1)
    fed = client.post(f"/api/external/runs/{run_id}/next").text
    unit = Unit.objects.get(run_id=run_id)
    assert "checkpoint" not in fed
    assert "world" not in fed
    assert not [c.text for c in unit.task.checkpoints.filter(kind="preference") if c.text in fed]


def test_an_empty_submission_is_refused_with_what_is_missing_and_giving_up_is_recorded(client: httpx.Client):
    run_id = open_run(client, limit=1)
    unit = client.post(f"/api/external/runs/{run_id}/next").json()["unit"]
    refused = client.post(f"/api/external/units/{unit}/submit", json={})
    assert refused.status_code == 409
    assert "needs" in refused.json()["error"]
    assert client.post(f"/api/external/units/{unit}/submit", json={"gave_up": "no idea"}).status_code == 200
    assert Trajectory.objects.get(unit_id=unit).termination == "no_action"


def test_a_unit_of_somebody_else_is_refused(client: httpx.Client):
    run_id = open_run(client, limit=1)
    unit = client.post(f"/api/external/runs/{run_id}/next").json()["unit"]
    other = User.objects.create_user("other")
    other.groups.set([Group.objects.get(name="admin")])
    headers = {"Authorization": f"Bearer {make_token(user=other, name='t')}"}
    answer = client.post(f"/api/external/units/{unit}/search", json={"query": "x"}, headers=headers)
    assert answer.status_code == 409


def test_runs_of_our_own_methods_are_not_fed(client: httpx.Client):
    body = {"dataset": "tiny", "methods": ["no_history"], "model": "offline", "limit": 1}
    run_id = client.post("/api/runs", json=body).json()["id"]
    assert client.post(f"/api/external/runs/{run_id}/next").status_code == 422
