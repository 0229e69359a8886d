"""What the tests of agents elsewhere share: a token, a run, its next task."""

from __future__ import annotations

import time

import httpx
from django.contrib.auth.models import User

from bench.models import Unit, UnitStatus
from bench.runs.execute import judge
from bench.tokens import USUAL, Scope, make_token
from examples import http_agent

JUDGES = ["offline-judge-a", "offline-judge-b", "offline-judge-c"]
WISH = {"name": "example", "dataset": "tiny", "model": "offline", "judges": JUDGES}


def bearer(*scopes: Scope) -> dict[str, str]:
    """Headers with a new token of admin."""
    token = make_token(user=User.objects.get(username="admin"), name="test", scopes=scopes or USUAL)
    return {"Authorization": f"Bearer {token}"}


def open_run(client: httpx.Client, limit: int = 4, **changes) -> int:
    answer = client.post("/api/external/runs", json={**WISH, "limit": limit, **changes})
    assert answer.status_code == 201, answer.text
    return answer.json()["run"]


def take(client: httpx.Client, run_id: int, kind: str = "") -> dict:
    """The next task; with ``kind`` the first of that kind of action, others given up."""
    while True:
        given = client.post(f"/api/external/runs/{run_id}/next").raise_for_status().json()
        if not kind or given["task"]["action_kind"] == kind:
            return given
        client.post(f"/api/external/units/{given['unit']}/submit", json={"gave_up": "later"}).raise_for_status()


def again(client: httpx.Client, run_id: int) -> dict:
    return client.post(f"/api/external/runs/{run_id}/next").json()


def post(client: httpx.Client, unit: int, verb: str, body: dict, **more) -> httpx.Response:
    return client.post(f"/api/external/units/{unit}/{verb}", json=body, **more)


def refused(answer: httpx.Response, status: int, part: str) -> bool:
    assert answer.status_code == status, answer.text
    assert part in answer.json()["error"], answer.text
    return True


def finished_run(client: httpx.Client, tasks: int = 4) -> int:
    run_id = open_run(client, judges=[], limit=tasks)
    assert http_agent.run(client, run_id) == tasks
    for unit in Unit.objects.filter(run_id=run_id, status=UnitStatus.ACTED):
        judge(unit.pk, "judge-of-this-test")
    deadline = time.monotonic() + 30
    while Unit.objects.filter(run_id=run_id).exclude(status=UnitStatus.SCORED).exists():
        assert time.monotonic() < deadline
    return run_id
