"""What an agent elsewhere hands in."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from annotation.transcript import transcript
from bench.models import Task, Trajectory
from bench.runs.world import PAGE
from tests.site.external.support import JUDGES, open_run, post, refused, take

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_empty_submission_is_refused_with_what_is_missing_and_giving_up_is_recorded(client: httpx.Client):
    run_id = open_run(client, limit=1)
    unit = client.post(f"/api/external/runs/{run_id}/next").json()["unit"]
    refused = client.post(f"/api/external/units/{unit}/submit", json={})
    assert refused.status_code == 409
    assert "needs" in refused.json()["error"]
    assert client.post(f"/api/external/units/{unit}/submit", json={"gave_up": "no idea"}).status_code == 200
    assert Trajectory.objects.get(unit_id=unit).termination == "no_action"


def test_of_two_committing_tools_both_must_be_called_before_a_submission(client: httpx.Client):
    given = take(client, open_run(client, judges=[]), "call_api")
    unit, task = given["unit"], Task.objects.get(units=given["unit"])
    item = task.world["items"][0]["id"]
    choose, tell = _committing("choose", task.world["item_argument"]), _committing("tell", "whom")
    Task.objects.filter(pk=task.pk).update(tools=[choose, tell])
    call = {"name": "choose", "arguments": {task.world["item_argument"]: item}}
    assert post(client, unit, "tools", call).json()["accepted"]
    assert refused(post(client, unit, "submit", {}), 409, "needs an accepted call of tell first")
    assert post(client, unit, "tools", {"name": "tell", "arguments": {"whom": "Ana"}}).json()["accepted"]
    assert post(client, unit, "submit", {}).json()["action"] == "call"
    action = Trajectory.objects.get(unit_id=unit).data["action"]
    assert (action["tool"], action["then"], action["arguments"]["whom"]) == ("choose", ["tell"], "Ana")


def _committing(name: str, argument: str) -> dict:
    schema = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"name": name, "description": name, "commits": True, "parameters": schema}


@pytest.mark.parametrize(
    ("step", "part"),
    [
        ({"summary": "x", "data": "a text"}, "steps.0.data"),
        ({"summary": "x", "data": {"content": 7, "deep": 1}, "kind": "magic"}, "steps.0.kind"),
        ({"summary": "x", "stage": "dreaming"}, "steps.0.stage"),
        ({"summary": 7}, "steps.0.summary"),
        ({"summary": "a\0b"}, "zero character"),
        ({"summary": "x", "data": {"a\0": 1}}, "zero character"),
        ({"summary": "x", "data": {"a": "y" * 30_000}}, "at most 20000 are taken"),
        ("a step", "steps.0"),
    ],
)
def test_an_odd_step_is_refused_by_its_place_and_nothing_is_stored(client: httpx.Client, step, part: str):
    unit = take(client, open_run(client, limit=1))["unit"]
    assert refused(post(client, unit, "submit", {"gave_up": "no", "steps": [step]}), 422, part)
    assert not Trajectory.objects.exists()


@pytest.mark.parametrize(
    "body",
    [
        b'{"gave_up": "\\ud800"}',
        b'{"gave_up": "no", "cost_usd": 1e999}',
        b'{"gave_up": "no", "cost_usd": NaN}',
        b'{"gave_up": "no", "tokens_in": 100000000000000000000}',
        b'{"gave_up": "no", "steps": [{"summary": "x", "data": ' + b'{"a":' * 40 + b"1" + b"}" * 40 + b"}]}",
    ],
)
def test_what_cannot_be_stored_is_refused_and_never_a_fault_of_the_server(client: httpx.Client, body: bytes):
    unit = take(client, open_run(client, limit=1))["unit"]
    headers = {"Content-Type": "application/json"}
    assert client.post(f"/api/external/units/{unit}/submit", content=body, headers=headers).status_code in (400, 422)


def test_what_the_agent_says_it_did_is_kept_as_claimed_and_look_ups_come_from_the_record(client: httpx.Client):
    given = take(client, open_run(client, limit=8), "call_api")
    lookup = next(tool["name"] for tool in given["task"]["tools"] if not tool["commits"])
    post(client, given["unit"], "search", {"query": "dinner", "k": 2}).raise_for_status()
    post(client, given["unit"], "tools", {"name": lookup, "arguments": {}}).raise_for_status()
    claim = {"tool": lookup, "arguments": {"city": "Atlantis"}, "content": 7, "accepted": False}
    steps = [{"stage": "act", "kind": "tool", "summary": "I looked it up", "data": claim}]
    stored = post(client, given["unit"], "submit", {"gave_up": "no", "steps": steps}).json()
    trajectory = Trajectory.objects.get(pk=stored["trajectory"])
    kinds = [(step["kind"], step["data"].get("claimed", False)) for step in trajectory.data["steps"]]
    assert kinds == [("search", False), ("tool", False), ("tool", True)]
    assert trajectory.data["steps"][2]["data"] == {"claimed": True, "data": claim}
    (shown,) = transcript(trajectory).look_ups
    items = trajectory.unit.task.world["items"]
    assert (shown.arguments, len(shown.rows)) == ((), len(items[:PAGE]))
    assert (stored["claimed_steps"], stored["recorded_steps"], stored["action"]) == (1, 2, "none")


def test_what_an_agent_thought_aloud_is_taken_out_of_its_text_and_the_trajectory_says_so(client: httpx.Client):
    given = take(client, open_run(client, limit=8, judges=[]), "generate")
    only_thought = post(client, given["unit"], "submit", {"text": "<think>I am model X.</think> "})
    assert refused(only_thought, 409, "needs a text")
    said = "<think>I am model X.</think>Dinner is at seven."  # 7 for <think>, 13, 8 for </think>
    stored = post(client, given["unit"], "submit", {"text": said}).json()
    trajectory = Trajectory.objects.get(pk=stored["trajectory"])
    assert trajectory.data["action"]["text"] == "Dinner is at seven."
    assert [step["cut"]["reasoning_chars"] for step in trajectory.data["steps"]] == [28]
    assert "model X" not in str(transcript(trajectory))


@pytest.mark.parametrize(("judges", "follow"), [(JUDGES, True), ([], False)])
def test_judges_are_announced_only_where_the_run_has_some(client: httpx.Client, judges: list[str], follow: bool):
    unit = take(client, open_run(client, limit=8, judges=judges), "generate")["unit"]
    stored = post(client, unit, "submit", {"text": "Dinner is at seven."}).json()
    assert (stored["action"], stored["judges_follow"]) == ("text", follow)


def test_of_parallel_submissions_one_is_stored_and_the_others_are_told_so(client: httpx.Client):
    unit = take(client, open_run(client, limit=1))["unit"]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: post(client, unit, "submit", {"gave_up": f"no {n}"}), range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 7
    assert all("submitted already" in answer.json()["error"] for answer in answers if answer.status_code == 409)
    stored = next(answer.json() for answer in answers if answer.status_code == 200)
    assert Trajectory.objects.get().pk == stored["trajectory"]
