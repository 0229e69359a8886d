"""What an agent elsewhere gets: tasks, searches, look-ups, and how far it is."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from django.contrib.auth.models import Group, User

from bench.models import EventLabel, ExternalSession, Run, Unit, UnitStatus
from bench.runs.execute import judge
from bench.tokens import Scope, make_token
from examples import http_agent
from tests.site.external.support import again, bearer, open_run, post, take

pytestmark = pytest.mark.django_db(transaction=True)


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
    assert again["evidence_served"] == [{k: v for k, v in event.items() if k != "seen_before"} for event in served]


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
        ExternalSession.objects.update(served=[], record=[])
        query = {"query": given["task"]["request"], "k": 40}
        events = client.post(f"/api/external/units/{given['unit']}/search", json=query).json()["events"]
        assert events
        labels = EventLabel.objects.filter(event__in=[event["event_id"] for event in events])
        return labels.filter(dimension__startswith=f"{domain}.").exists()

    assert own_domain_served(transfer=False)
    assert not own_domain_served(transfer=True)


def test_two_tokens_of_one_user_work_side_by_side(client: httpx.Client):
    run_id = open_run(client)
    other = client.post(f"/api/external/runs/{run_id}/next", headers=bearer(Scope.AGENT)).json()
    assert other["unit"] != take(client, run_id)["unit"]


def test_of_parallel_requests_for_a_task_all_get_the_same(client: httpx.Client):
    run_id = open_run(client)
    with ThreadPoolExecutor(6) as pool:
        units = list(pool.map(lambda _: take(client, run_id)["unit"], range(6)))
    assert len(set(units)) == 1


def test_progress_says_what_is_held_and_what_is_left(client: httpx.Client):
    run_id = open_run(client, limit=3)
    unit = take(client, run_id)["unit"]
    client.post(f"/api/external/runs/{run_id}/next", headers=bearer(Scope.AGENT)).raise_for_status()
    found = client.get(f"/api/external/runs/{run_id}").json()
    assert [held["unit"] for held in found["held"]] == [unit]
    assert (found["planned"], found["left"], found["held_by_others"], found["scored"]) == (3, 1, 1, 0)
    assert (found["method"], found["model"], found["status"]) == ("external-example", "offline", "running")


def test_a_search_says_scores_what_was_seen_and_what_remains(client: httpx.Client):
    given = take(client, open_run(client, limit=1))
    first = post(client, given["unit"], "search", {"query": "dinner", "k": 3}).json()
    second = post(client, given["unit"], "search", {"query": "dinner", "k": 4}).json()
    assert [event["seen_before"] for event in first["events"]] == [False] * 3
    assert sum(event["seen_before"] for event in second["events"]) == 3
    assert first["remaining"]["events"] == given["remaining"]["events"] - 3
    used = sum(-(-len(event["text"]) // 4) for event in first["events"])
    assert first["remaining"]["tokens"] == given["limits"]["evidence_tokens"] - used
    scores = [event["score"] for event in first["events"]]
    assert scores == sorted(scores, reverse=True)


def test_a_look_up_is_not_called_unaccepted_and_costs_a_call_only_when_it_finds_something(client: httpx.Client):
    given = take(client, open_run(client, limit=8), "call_api")
    tools = given["task"]["tools"]
    lookup = next(tool for tool in tools if not tool["commits"])
    commit = next(tool for tool in tools if tool["commits"])
    world = Unit.objects.get(pk=given["unit"]).task.world
    filters = world["filters"][lookup["name"]]
    name = next(name for name in filters if "format" not in lookup["parameters"]["properties"][name])
    nothing = post(client, given["unit"], "tools", {"name": lookup["name"], "arguments": {name: "Atlantis"}}).json()
    assert (nothing["ok"], nothing["accepted"]) == (False, None)
    assert f"{name} is one of" in nothing["error"]
    found = post(client, given["unit"], "tools", {"name": lookup["name"], "arguments": {name: None}}).json()
    assert (found["ok"], found["accepted"], found["total"]) == (True, None, len(world["items"]))
    wrong = post(client, given["unit"], "tools", {"name": commit["name"], "arguments": {}}).json()
    assert (wrong["ok"], wrong["accepted"]) == (False, False)
    assert wrong["remaining"]["tool_calls"] == given["limits"]["tool_calls"] - 1


def test_runs_of_our_own_methods_are_not_fed(client: httpx.Client):
    body = {"dataset": "tiny", "methods": ["no_history"], "model": "offline", "limit": 1}
    run_id = client.post("/api/runs", json=body).json()["id"]
    assert client.post(f"/api/external/runs/{run_id}/next").status_code == 422


def test_a_unit_of_somebody_else_is_refused(client: httpx.Client):
    run_id = open_run(client, limit=1)
    unit = client.post(f"/api/external/runs/{run_id}/next").json()["unit"]
    other = User.objects.create_user("other")
    other.groups.set([Group.objects.get(name="admin")])
    headers = {"Authorization": f"Bearer {make_token(user=other, name='t')}"}
    answer = client.post(f"/api/external/units/{unit}/search", json={"query": "x"}, headers=headers)
    assert answer.status_code == 409
