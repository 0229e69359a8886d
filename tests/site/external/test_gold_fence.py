"""Who has read the answers of a dataset brings no agent to a run of it from before."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.urls import reverse

from bench.models import GoldReading, Run, Trajectory, Unit, UnitStatus
from bench.runs.claim import cancel_run, finish_if_over, retry_failed
from bench.runs.fence import hold_fence
from bench.tokens import Scope, make_token
from tests.bench.live import wait_for
from tests.site.external.support import bearer, finished_run, open_run, post, refused, take
from tests.site.external.test_pause_and_cancel import waiting

pytestmark = pytest.mark.django_db(transaction=True)

CLOSED = "has read gold of tiny v1 since it was opened"


@pytest.fixture
def colleague() -> User:
    user = User.objects.create_user("colleague")
    user.groups.set([Group.objects.get(name="admin")])
    return user


def token(user: User, *scopes: Scope) -> dict[str, str]:
    return {"Authorization": f"Bearer {make_token(user=user, name='t', scopes=scopes)}"}


def begun_run(client: httpx.Client) -> tuple[int, str]:
    """A run of which one trajectory is stored, and the address of that trajectory."""
    run_id = open_run(client, limit=3)
    stored = post(client, take(client, run_id)["unit"], "submit", {"gave_up": "no"}).json()["trajectory"]
    return run_id, f"/api/trajectories/{stored}"


def withheld(client: httpx.Client, path: str, headers: dict[str, str]) -> str:
    return client.get(path, headers=headers).raise_for_status().json()["gold_withheld"]


def fetch(client: httpx.Client, run_id: int, headers: dict[str, str] | None = None) -> httpx.Response:
    return client.post(f"/api/external/runs/{run_id}/next", headers=headers)


def test_gold_is_refused_to_who_works_on_an_open_run_with_another_token_or_for_another(
    client: httpx.Client, colleague: User
):
    run_id, path = begun_run(client)
    refusal = f"external run {run_id} on this dataset, in which you take part"
    assert refusal in withheld(client, path, bearer(Scope.READ, Scope.GOLD))  # another token of who opened it
    fetch(client, run_id, token(colleague, Scope.AGENT)).raise_for_status()
    assert refusal in withheld(client, path, token(colleague, Scope.READ, Scope.GOLD))
    assert not GoldReading.objects.exists()


def test_a_cancelled_run_whose_gold_was_read_is_not_resumed(client: httpx.Client):
    run_id, path = begun_run(client)
    cancel_run(run_id)
    assert withheld(client, path, bearer(Scope.READ, Scope.GOLD)) == ""
    assert refused(client.post(f"/api/runs/{run_id}/resume"), 409, f"admin {CLOSED}")
    assert Run.objects.get(pk=run_id).status == "cancelled"


def test_results_with_checkpoints_are_gold_that_was_read(client: httpx.Client):
    run_id = open_run(client, limit=2)
    cancel_run(run_id)
    gold = bearer(Scope.AGENT, Scope.GOLD)
    assert client.get(f"/api/external/runs/{run_id}/results", headers=gold).json()["gold_withheld"] == ""
    assert refused(client.post(f"/api/runs/{run_id}/resume"), 409, f"admin {CLOSED}")


def test_the_page_says_why_a_run_is_not_resumed(client: httpx.Client, colleague: User, client_of):
    run_id, path = begun_run(client)
    cancel_run(run_id)
    withheld(client, path, bearer(Scope.READ, Scope.GOLD))
    page = client_of(colleague).post(reverse("run-act", args=[run_id, "resume"]), follow=True).content.decode()
    assert f"admin {CLOSED}" in page
    assert "marked as gold seen" in page


def test_no_task_is_handed_out_once_a_worker_of_the_run_has_read_its_gold_wherever_the_run_stands(
    client: httpx.Client, colleague: User
):
    run_id, path = begun_run(client)
    fetch(client, run_id, token(colleague, Scope.AGENT)).raise_for_status()
    Run.objects.filter(pk=run_id).update(status="done")
    assert withheld(client, path, token(colleague, Scope.READ, Scope.GOLD)) == ""
    Run.objects.filter(pk=run_id).update(status="running")
    assert refused(fetch(client, run_id), 409, f"colleague {CLOSED}")  # admin's agent is told too


def test_who_has_read_gold_of_an_open_run_of_others_cannot_join_it_and_the_others_go_on(
    client: httpx.Client, colleague: User
):
    run_id, path = begun_run(client)
    assert withheld(client, path, token(colleague, Scope.READ, Scope.GOLD)) == ""  # takes no part
    assert refused(fetch(client, run_id, token(colleague, Scope.AGENT)), 409, f"colleague {CLOSED}")
    assert take(client, run_id)["unit"]
    assert not Run.objects.get(pk=run_id).gold_seen


def test_a_run_opened_after_its_gold_was_read_is_marked_and_can_be_worked_on(client: httpx.Client):
    run_id = finished_run(client)
    finish_if_over(run_id)
    client.get(f"/api/external/runs/{run_id}/results", headers=bearer(Scope.AGENT, Scope.GOLD)).raise_for_status()
    later = open_run(client, limit=1)
    assert take(client, later)["unit"]
    marks = [Run.objects.get(pk=pk).gold_seen for pk in (run_id, later)]
    assert marks == [False, True]
    assert [client.get(f"/api/external/runs/{pk}").json()["gold_seen"] for pk in (run_id, later)] == marks
    assert [client.get(f"/api/runs/{pk}").json()["run"]["gold_seen"] for pk in (run_id, later)] == marks
    assert [client.get(f"/api/runs/{pk}/results").json()["gold_seen"] for pk in (run_id, later)] == marks


def test_a_run_is_marked_once_somebody_joins_who_had_read_gold_before_it_was_opened(
    client: httpx.Client, colleague: User
):
    earlier, path = begun_run(client)
    cancel_run(earlier)
    assert withheld(client, path, token(colleague, Scope.READ, Scope.GOLD)) == ""
    run_id = open_run(client, limit=2)
    assert not Run.objects.get(pk=run_id).gold_seen
    fetch(client, run_id, token(colleague, Scope.AGENT)).raise_for_status()
    assert Run.objects.get(pk=run_id).gold_seen


def test_retry_asks_the_judges_again_and_not_the_agent_whose_people_read_the_gold(client: httpx.Client):
    run_id, path = begun_run(client)
    failed = take(client, run_id)["unit"]
    Unit.objects.filter(pk=failed).update(status=UnitStatus.FAILED)
    cancel_run(run_id)
    withheld(client, path, bearer(Scope.READ, Scope.GOLD))
    judged = Trajectory.objects.get(unit__run=run_id).unit_id
    Unit.objects.filter(pk=judged).update(status=UnitStatus.FAILED)
    assert retry_failed(run_id) == 1
    status = dict(Unit.objects.filter(run=run_id).values_list("pk", "status"))
    assert status.pop(judged) in (UnitStatus.ACTED, UnitStatus.JUDGING, UnitStatus.SCORED)
    assert sorted(status.values()) == [UnitStatus.CANCELLED, UnitStatus.FAILED]


def test_whoever_takes_a_task_while_he_asks_for_gold_gets_one_of_the_two(client: httpx.Client, colleague: User):
    run_id, path = begun_run(client)
    gold, agent = token(colleague, Scope.READ, Scope.GOLD), token(colleague, Scope.AGENT)
    with ThreadPoolExecutor(2) as pool:
        with transaction.atomic():
            hold_fence(colleague.pk, Run.objects.get(pk=run_id).dataset_id)
            asked = [pool.submit(withheld, client, path, gold), pool.submit(fetch, client, run_id, agent)]
            wait_for("both wait for the fence", lambda: waiting() == 2)
        seen, task = asked[0].result() == "", asked[1].result().status_code == 200
    assert seen is not task


def test_the_course_of_a_method_that_is_given_the_gold_events_is_gold(client: httpx.Client):
    body = {"dataset": "tiny", "methods": ["oracle", "no_history"], "model": "offline", "limit": 1}
    run_id = client.post("/api/runs", json=body).json()["id"]
    for unit in Unit.objects.filter(run=run_id):
        data = {"steps": [], "evidence": [{"event_id": "1"}]}
        Trajectory.objects.create(unit=unit, termination="completed", data=data, committed=[])
    pk = {one.unit.method: one.pk for one in Trajectory.objects.filter(unit__run=run_id)}
    shown = {name: client.get(f"/api/trajectories/{pk[name]}").json()["trajectory"] for name in pk}
    assert (shown["oracle"], shown["no_history"]["evidence"]) == (None, [{"event_id": "1"}])
    gold = bearer(Scope.READ, Scope.GOLD)
    assert client.get(f"/api/trajectories/{pk['oracle']}", headers=gold).json()["trajectory"]["evidence"]
