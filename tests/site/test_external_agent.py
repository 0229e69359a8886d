from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from django.contrib.auth.models import Group, User
from django.db import connection, transaction

from annotation.transcript import transcript
from bench.catalogue import load_catalogue
from bench.catalogue.store import store_catalogue
from bench.generation.build import Recipe, build_dataset
from bench.models import Checkpoint, Dataset, EventLabel, ExternalSession, Run, Trajectory, Unit, UnitStatus
from bench.runs.claim import cancel_run, finish_if_over, pause_run, resume_run
from bench.runs.execute import judge
from bench.tokens import USUAL, Scope, make_token
from examples import http_agent
from iba_site import services
from tests.bench.live import wait_for

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def client(live_server):
    services.ensure("embeddings", "offline")
    catalogue = load_catalogue()
    store_catalogue(catalogue)
    build_dataset(catalogue, Recipe("tiny", "tiny", seed=7), say=lambda text: None)
    user = User.objects.create_user("admin")
    user.groups.set([Group.objects.get(name="admin")])
    with httpx.Client(base_url=live_server.url, headers=bearer(), timeout=60) as found:
        yield found


def bearer(*scopes: Scope) -> dict[str, str]:
    """Headers with a new token of admin."""
    token = make_token(user=User.objects.get(username="admin"), name="test", scopes=scopes or USUAL)
    return {"Authorization": f"Bearer {token}"}


JUDGES = ["offline-judge-a", "offline-judge-b", "offline-judge-c"]
WISH = {"name": "example", "dataset": "tiny", "model": "offline", "judges": JUDGES}


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


def post(client: httpx.Client, unit: int, verb: str, body: dict, **more) -> httpx.Response:
    return client.post(f"/api/external/units/{unit}/{verb}", json=body, **more)


def refused(answer: httpx.Response, status: int, part: str) -> bool:
    assert answer.status_code == status, answer.text
    assert part in answer.json()["error"], answer.text
    return True


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


# --- What comes in


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
    assert (shown.arguments, len(shown.rows)) == ((), 12)
    assert (stored["claimed_steps"], stored["recorded_steps"], stored["action"]) == (1, 2, "none")


def test_of_parallel_submissions_one_is_stored_and_the_others_are_told_so(client: httpx.Client):
    unit = take(client, open_run(client, limit=1))["unit"]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: post(client, unit, "submit", {"gave_up": f"no {n}"}), range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 7
    assert all("submitted already" in answer.json()["error"] for answer in answers if answer.status_code == 409)
    stored = next(answer.json() for answer in answers if answer.status_code == 200)
    assert Trajectory.objects.get().pk == stored["trajectory"]


def test_of_parallel_requests_for_a_task_all_get_the_same(client: httpx.Client):
    run_id = open_run(client)
    with ThreadPoolExecutor(6) as pool:
        units = list(pool.map(lambda _: take(client, run_id)["unit"], range(6)))
    assert len(set(units)) == 1


def test_two_tokens_of_one_user_work_side_by_side(client: httpx.Client):
    run_id = open_run(client)
    other = client.post(f"/api/external/runs/{run_id}/next", headers=bearer(Scope.AGENT)).json()
    assert other["unit"] != take(client, run_id)["unit"]


def test_a_pause_binds_external_agents_until_the_run_is_resumed(client: httpx.Client):
    run_id = open_run(client)
    unit = take(client, run_id)["unit"]
    pause_run(run_id)
    asked = [client.post(f"/api/external/runs/{run_id}/next"), post(client, unit, "search", {"query": "x"})]
    asked += [post(client, unit, "tools", {"name": "x"}), post(client, unit, "submit", {"gave_up": "no"})]
    assert all(refused(answer, 409, f"run {run_id} is paused") for answer in asked)
    resume_run(run_id)
    assert take(client, run_id)["unit"] == unit
    assert post(client, unit, "submit", {"gave_up": "no"}).status_code == 200


def test_a_cancelled_run_takes_nothing_more_and_its_held_unit_ends(client: httpx.Client):
    run_id = open_run(client)
    unit = take(client, run_id)["unit"]
    cancel_run(run_id)
    assert refused(post(client, unit, "submit", {"gave_up": "no"}), 409, "was cancelled")
    assert refused(client.post(f"/api/external/runs/{run_id}/next"), 409, "was cancelled")
    assert set(Unit.objects.filter(run_id=run_id).values_list("status", flat=True)) == {UnitStatus.CANCELLED}
    assert not Trajectory.objects.exists()


@pytest.mark.parametrize(("change", "words"), [(pause_run, "is paused"), (cancel_run, "was cancelled")])
def test_a_submission_that_meets_a_pause_or_cancel_under_way_is_not_stored(client: httpx.Client, change, words: str):
    run_id = open_run(client, limit=1)
    unit = take(client, run_id)["unit"]
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            change(run_id)  # not yet seen by others
            answer = pool.submit(post, client, unit, "submit", {"gave_up": "no"})
            wait_for("the submission waits for the run", lambda: answer.done() or somebody_waits_for_a_lock())
        assert refused(answer.result(), 409, words)
    assert not Trajectory.objects.exists()


def somebody_waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])


# --- The run and its marking


@pytest.mark.parametrize("missing", ["model", "judges"])
def test_model_and_judges_are_asked_for(client: httpx.Client, missing: str):
    wish = {key: value for key, value in WISH.items() if key != missing}
    assert refused(client.post("/api/external/runs", json=wish), 422, f"{missing}: Field required")


def test_an_agent_with_a_model_of_its_own_is_not_simulated_and_the_name_is_recorded(client: httpx.Client):
    run = Run.objects.get(pk=open_run(client, model="Claude & co. 4", judges=[]))
    assert (run.simulated, run.model, run.manifest["model"]["simulated"]) == (False, "Claude & co. 4", False)
    assert run.manifest["policy"]["panel"] == []


def test_an_agent_on_the_simulated_model_is_marked(client: httpx.Client):
    assert Run.objects.get(pk=open_run(client, judges=[])).simulated


def test_simulated_judges_do_not_grade_a_real_agent(client: httpx.Client):
    answer = client.post("/api/external/runs", json={**WISH, "model": "claude"})
    assert refused(answer, 422, "judge 'offline-judge-a' is simulated and model 'claude' is not")


@pytest.mark.parametrize("name", ["x", "a b", "Caps", "a/b", "x" * 29, "n\u00e4me"])
def test_the_rule_of_a_methods_name_is_told_in_words(client: httpx.Client, name: str):
    answer = client.post("/api/external/runs", json={**WISH, "name": name})
    assert refused(answer, 422, "name: ")
    assert answer.json()["error"].endswith("use 2 to 28 small letters (a to z), digits and _")


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
    filters = Unit.objects.get(pk=given["unit"]).task.world["filters"][lookup["name"]]
    name = next(name for name in filters if "format" not in lookup["parameters"]["properties"][name])
    nothing = post(client, given["unit"], "tools", {"name": lookup["name"], "arguments": {name: "Atlantis"}}).json()
    assert (nothing["ok"], nothing["accepted"]) == (False, None)
    assert f"{name} is one of" in nothing["error"]
    found = post(client, given["unit"], "tools", {"name": lookup["name"], "arguments": {name: None}}).json()
    assert (found["ok"], found["accepted"], found["total"]) == (True, None, 12)
    wrong = post(client, given["unit"], "tools", {"name": commit["name"], "arguments": {}}).json()
    assert (wrong["ok"], wrong["accepted"]) == (False, False)
    assert wrong["remaining"]["tool_calls"] == given["limits"]["tool_calls"] - 1


# --- Who may see what


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


def test_gold_is_refused_to_who_works_on_an_open_run_with_another_token_or_for_another(
    client: httpx.Client,
):
    run_id = open_run(client, limit=2)
    stored = post(client, take(client, run_id)["unit"], "submit", {"gave_up": "no"}).json()["trajectory"]
    colleague = User.objects.create_user("colleague")
    colleague.groups.set([Group.objects.get(name="admin")])

    def token(*scopes: Scope) -> dict[str, str]:
        return {"Authorization": f"Bearer {make_token(user=colleague, name='t', scopes=scopes)}"}

    def withheld(headers: dict[str, str]) -> str:
        return client.get(f"/api/trajectories/{stored}", headers=headers).raise_for_status().json()["gold_withheld"]

    reader, refusal = token(Scope.READ, Scope.GOLD), f"external run {run_id} on this dataset, in which you take part"
    assert refusal in withheld(bearer(Scope.READ, Scope.GOLD))  # another token of who opened it
    assert withheld(reader) == ""  # takes no part
    client.post(f"/api/external/runs/{run_id}/next", headers=token(Scope.AGENT)).raise_for_status()
    assert refusal in withheld(reader)


def finished_run(client: httpx.Client) -> int:
    run_id = open_run(client, judges=[], limit=4)
    assert http_agent.run(client, run_id) == 4
    for unit in Unit.objects.filter(run_id=run_id, status=UnitStatus.ACTED):
        judge(unit.pk, "judge-of-this-test")
    deadline = time.monotonic() + 30
    while Unit.objects.filter(run_id=run_id).exclude(status=UnitStatus.SCORED).exists():
        assert time.monotonic() < deadline
    return run_id


def test_results_of_an_own_run_are_shown_once_it_has_ended(client: httpx.Client):
    run_id = finished_run(client)
    path, agent = f"/api/external/runs/{run_id}/results", bearer(Scope.AGENT)
    Run.objects.filter(pk=run_id).update(status="running")
    assert refused(client.get(path, headers=agent), 409, "its results are shown once it has ended")
    finish_if_over(run_id)
    found = client.get(path, headers=agent).json()
    assert (found["checkpoints"], found["gold_withheld"]) == (None, "gold needs a token of scope 'gold'")
    assert found["cells"][0]["planned"] == 4
    kinds = found["by_action_kind"]
    assert sum(shares["tasks"] for shares in kinds.values()) == 4
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


def test_every_route_of_agents_has_a_typed_answer_with_descriptions(client: httpx.Client):
    document = client.get("/api/openapi.json").json()
    schemas = document["components"]["schemas"]
    for path, routes in document["paths"].items():
        if not path.startswith("/api/external"):
            continue
        for route in routes.values():
            answer = next(content for code, content in route["responses"].items() if code in ("200", "201"))
            assert "$ref" in answer["content"]["application/json"]["schema"], path
            assert route["description"], path
    for name in ("FoundOut", "FoundEventOut", "StoredOut", "ToolOut", "ExternalProgressOut", "SubmissionIn"):
        assert any("description" in field for field in schemas[name]["properties"].values()), name
