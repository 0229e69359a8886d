"""What a run of an own agent amounts to, for who brought it."""

from __future__ import annotations

import httpx
import pytest

from bench.models import Run
from bench.runs.claim import finish_if_over
from bench.tokens import Scope
from tests.site.external.support import bearer, finished_run, open_run, refused

pytestmark = pytest.mark.django_db(transaction=True)


def test_results_of_an_own_run_are_shown_once_it_has_ended(client: httpx.Client):
    run_id = finished_run(client, tasks=12)  # of both kinds
    path, agent = f"/api/external/runs/{run_id}/results", bearer(Scope.AGENT)
    Run.objects.filter(pk=run_id).update(status="running")
    assert refused(client.get(path, headers=agent), 409, "its results are shown once it has ended")
    finish_if_over(run_id)
    found = client.get(path, headers=agent).json()
    assert (found["checkpoints"], found["gold_withheld"]) == (None, "gold needs a token of scope 'gold'")
    assert found["cells"][0]["planned"] == 12
    kinds = found["by_action_kind"]
    assert sum(shares["tasks"] for shares in kinds.values()) == 12
    assert kinds["call_api"]["preference_scored"] > 0
    assert kinds["generate"]["preference_scored"] == 0  # no judges: rules and people only


def test_with_gold_each_checkpoint_tells_finding_from_reading(client: httpx.Client):
    run_id = finished_run(client)
    finish_if_over(run_id)
    found = client.get(f"/api/external/runs/{run_id}/results", headers=bearer(Scope.AGENT, Scope.GOLD)).json()
    assert found["gold_withheld"] == ""
    preferences = [one for one in found["checkpoints"] if one["kind"] == "preference"]
    assert preferences
    assert all(one["dimension"] and one["wanted"] for one in preferences)
    assert any(one["gold_event_ids"] for one in preferences)
    assert all(set(one["seen_event_ids"]) <= set(one["gold_event_ids"]) for one in preferences)
    calls = [one for one in found["checkpoints"] if one["action_kind"] == "call_api"]
    assert all(one["verdicts"][0]["source"] == "rule" and one["verdicts"][0]["reason"] for one in calls)


def test_results_of_somebody_elses_run_are_not_there(client: httpx.Client):
    run_id = open_run(client, limit=1)
    Run.objects.filter(pk=run_id).update(created_by=None, status="done")
    assert refused(client.get(f"/api/external/runs/{run_id}/results"), 404, "nothing at this address")
