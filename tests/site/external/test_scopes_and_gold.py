"""What a token may see, and who may see gold."""

from __future__ import annotations

import httpx
import pytest

from bench.models import Checkpoint, Dataset, Run, Unit
from bench.tokens import Scope
from tests.site.external.support import WISH, bearer, open_run, post, refused, take

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_task_as_it_is_fed_holds_no_gold(client: httpx.Client):
    run_id = open_run(client, limit=1)
    fed = client.post(f"/api/external/runs/{run_id}/next").text
    unit = Unit.objects.get(run_id=run_id)
    assert "checkpoint" not in fed
    assert "world" not in fed
    assert not [c.text for c in unit.task.checkpoints.filter(kind="preference") if c.text in fed]


def test_a_token_of_an_agent_sees_its_own_work_and_no_trajectory(client: httpx.Client):
    run_id = open_run(client, limit=1)
    agent = bearer(Scope.AGENT)
    assert client.get(f"/api/external/runs/{run_id}", headers=agent).status_code == 200
    for path in ("/api/runs", f"/api/runs/{run_id}", f"/api/runs/{run_id}/results", "/api/trajectories/1"):
        assert refused(client.get(path, headers=agent), 403, "this token has no scope 'read'")
    body = {"dataset": "tiny", "methods": ["no_history"], "model": "offline", "limit": 1}
    assert refused(client.post("/api/runs", json=body, headers=agent), 403, "no scope 'launch'")
    assert refused(client.post(f"/api/runs/{run_id}/cancel", headers=agent), 403, "no scope 'launch'")


def test_a_token_without_the_scope_of_an_agent_cannot_work_on_tasks(client: httpx.Client):
    run_id = open_run(client, limit=1)
    reader = bearer(Scope.READ, Scope.LAUNCH, Scope.GOLD)
    assert refused(client.post(f"/api/external/runs/{run_id}/next", headers=reader), 403, "no scope 'agent'")
    assert refused(client.post("/api/external/runs", json=WISH, headers=reader), 403, "no scope 'agent'")


def test_gold_needs_a_scope_and_is_refused_while_an_own_agent_works_on_the_dataset(client: httpx.Client):
    run_id = open_run(client, limit=1)
    unit = take(client, run_id)["unit"]
    stored = post(client, unit, "submit", {"gave_up": "no"}).json()["trajectory"]
    Run.objects.filter(pk=run_id).update(status="running")
    gold, path = bearer(Scope.READ, Scope.GOLD), f"/api/trajectories/{stored}"
    texts = list(Checkpoint.objects.filter(task__units=unit).values_list("text", flat=True))

    def shown(headers=None) -> tuple[bool, str]:
        answer = client.get(path, headers=headers).raise_for_status()
        return any(text in answer.text for text in texts), answer.json()["gold_withheld"]

    assert shown() == (False, "gold needs a token of scope 'gold'")
    assert shown(gold)[0] is False
    assert f"external run {run_id} on this dataset, in which you take part, is still open" in shown(gold)[1]
    Run.objects.filter(pk=run_id).update(status="done")
    assert shown(gold) == (True, "")
    others = {"name": "other", "version": 1, "sha256": "0", "seed": 1, "size": "1", "noise": 0, "author": "a"}
    run = Run.objects.get(pk=run_id)
    run.pk, run.status = None, "running"
    run.dataset = Dataset.objects.create(**others, data_version="1", complete=True)
    run.save()
    assert shown(gold) == (True, "")  # an agent at work on another dataset
