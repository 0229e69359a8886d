"""The HTTP API: who may do what, in which shape, and how it says no."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import Group, User
from django.core.cache import cache
from django.test import Client

from bench.access import Role
from bench.models import ApiToken, Endpoint, Run, Trajectory, Unit
from bench.results.report import results_of
from bench.tokens import Scope, make_token
from iba_site import services
from tests.annotation.factories import make_run

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def no_memory_of_earlier_sign_ins(settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # as slow as a test needs
    cache.clear()


@pytest.fixture
def run(db):
    return make_run(personas=2)


@pytest.fixture
def api_as(db):
    """``api_as("viewer")``: a client that sends a token of a person in that role; "" has no role."""

    def make(role):
        user = User.objects.create_user(f"{role or 'nobody'}-person", password=PASSWORD)
        if role:
            user.groups.add(Group.objects.get(name=role))
        return Api(make_token(user=user, name="test", scopes=Scope))

    return make


class Api:
    def __init__(self, token=""):
        self.client = Client(headers={"authorization": f"Bearer {token}"} if token else {})

    def get(self, path, **query):
        return self.client.get(f"/api{path}", query)

    def patch(self, path, body):
        return self.client.patch(f"/api{path}", json.dumps(body), content_type="application/json")

    def post(self, path, body=None):
        return self.client.post(f"/api{path}", json.dumps(body or {}), content_type="application/json")


def says(response, status, part):
    """An error in the one shape that errors have."""
    assert response.status_code == status, response.content
    assert set(response.json()) == {"error"}
    assert part in response.json()["error"]
    return True


def sign_in(**changes):
    return Api().post("/token", {"username": "ada", "password": PASSWORD, **changes})


# --- Signing in


def test_a_password_buys_a_token_that_is_stored_as_a_hash_only(db):
    User.objects.create_user("ada", password=PASSWORD)
    token = sign_in(name="laptop").json()["token"]
    row = ApiToken.objects.get()
    assert row.name == "laptop"
    assert token not in str(vars(row))
    assert Api(token).get("/datasets").status_code == 200


@pytest.mark.parametrize("wrong", [{"password": "wrong"}, {"username": "eve"}, {"password": ""}])
def test_a_wrong_password_and_an_unknown_name_are_told_the_same(db, wrong):
    User.objects.create_user("ada", password=PASSWORD)
    assert says(sign_in(**wrong), 401, "username and password do not belong together")
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize("wrong", [{"username": "a\0b"}, {"password": "x" * 5000}, {"username": None}, {"name": 3}])
def test_what_is_no_name_and_password_is_refused_by_field(db, wrong):
    assert says(sign_in(**wrong), 422, f"{next(iter(wrong))}: ")


def test_guessing_passwords_is_slowed_down_whatever_address_a_header_claims(db):
    statuses = []
    for number in range(12):
        api = Api()
        api.client.defaults["HTTP_X_FORWARDED_FOR"] = f"10.0.0.{number}"
        statuses.append(api.post("/token", {"username": "ada", "password": "guess"}).status_code)
    assert statuses == [401] * 7 + [429] * 5  # the eighth wrong password closes the name
    shut = sign_in()
    assert says(shut, 429, "")
    assert 0 < int(shut["Retry-After"]) <= 600


@pytest.mark.parametrize("how", ["revoked", "inactive", "invented", "missing", "cookie"])
def test_without_a_valid_token_there_is_a_401_that_says_where_to_get_one(run, how):
    user = User.objects.create_superuser("ada", password=PASSWORD)
    token = make_token(user=user, name="test")
    api = Api({"invented": "iba_invented", "missing": "", "cookie": ""}.get(how, token))
    if how == "revoked":
        ApiToken.objects.update(revoked_at="2025-01-01T00:00Z")
    elif how == "inactive":
        User.objects.update(is_active=False)
    elif how == "cookie":
        api.client.force_login(user)  # a page's session is no token: no other site can make a browser send one
    for path in ("/datasets", "/runs", f"/runs/{run.pk}", "/trajectories/1"):
        assert says(api.get(path), 401, "POST /api/token")
    assert says(api.post("/runs", {}), 401, "POST /api/token")


# --- Roles


@pytest.mark.parametrize("role", [Role.ADMIN, Role.ADJUDICATOR, Role.VIEWER])
def test_who_may_see_results_may_read_everything_about_a_run(run, api_as, role):
    api, trajectory = api_as(role), Trajectory.objects.first()
    paths = ("/runs", f"/runs/{run.pk}", f"/runs/{run.pk}/results", f"/runs/{run.pk}/trajectories")
    assert {api.get(path).status_code for path in (*paths, f"/trajectories/{trajectory.pk}")} == {200}


@pytest.mark.parametrize("role", [Role.ANNOTATOR, ""])
def test_raters_stay_blind_and_people_without_a_role_see_nothing(run, api_as, role):
    api, trajectory = api_as(role), Trajectory.objects.first()
    paths = ("/runs", f"/runs/{run.pk}", f"/runs/{run.pk}/results", f"/runs/{run.pk}/trajectories")
    for path in (*paths, f"/trajectories/{trajectory.pk}", "/runs/987654321"):
        assert says(api.get(path), 403, "your role does not allow results")


@pytest.mark.parametrize("role", [Role.ADJUDICATOR, Role.VIEWER, Role.ANNOTATOR, ""])
@pytest.mark.parametrize("verb", ["pause", "resume", "cancel", "retry", "dance"])
def test_only_an_admin_starts_and_stops_runs(run, api_as, role, verb):
    api = api_as(role)
    assert says(api.post(f"/runs/{run.pk}/{verb}"), 403, "does not allow runs to be started or changed")
    wish = {"dataset": run.dataset.name, "methods": ["iba"], "model": "offline"}
    assert says(api.post("/runs", wish), 403, "does not allow")
    assert Run.objects.count() == 1


# --- What is not there, and what does not fit


@pytest.mark.parametrize(
    "path",
    [
        "/runs/987654321",
        "/runs/987654321/results",
        "/runs/987654321/trajectories",
        "/trajectories/987654321",
        "/runs/99999999999999999999999",
        "/datasets/nowhere",
    ],
)
def test_what_is_not_there_is_a_404_in_the_same_shape(run, api_as, path):
    assert says(api_as(Role.ADMIN).get(path), 404, "there is nothing at this address")


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"dataset": "nowhere"}, "unknown dataset 'nowhere'"),
        ({"dataset": "a\0b"}, "dataset"),
        ({"methods": ["ibx"]}, "unknown method 'ibx'"),
        ({"methods": "iba"}, "methods: "),
        ({"methods": []}, "no method is named"),
        ({"model": "gpt-0"}, "unknown model 'gpt-0'"),
        ({"limit": 0}, "limit is 0"),
        ({"limit": 10**30}, "limit is "),
        ({"repeats": "many"}, "repeats: "),
        ({"seed": 1.5}, "seed: "),
        ({"budget_usd": -1}, "budget_usd is -1"),
        ({"domains": ["gardening"]}, "unknown domain 'gardening'"),
    ],
)
def test_a_run_that_cannot_be_started_is_a_422_with_a_sentence_and_writes_nothing(
    run, api_as, offline_url, changes, part
):
    wish = {"dataset": run.dataset.name, "methods": ["iba"], "model": "offline"}
    assert says(api_as(Role.ADMIN).post("/runs", {**wish, **changes}), 422, part)
    assert Run.objects.count() == 1


@pytest.fixture
def offline_url():
    """The stand-in, which is asked for its list of models before a run is started."""
    services.ensure("offline")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"dataset": NaN}', b"\xff\xfe"])
def test_a_body_that_is_not_json_or_not_an_object_is_refused_in_words(run, api_as, body):
    response = api_as(Role.ADMIN).client.post("/api/runs", body, content_type="application/json")
    assert response.status_code in (400, 422)
    assert set(response.json()) == {"error"}


def test_a_budget_that_is_no_number_is_refused(run, api_as, offline_url):
    body = json.dumps({"dataset": run.dataset.name, "methods": ["iba"], "model": "offline", "budget_usd": float("nan")})
    response = api_as(Role.ADMIN).client.post("/api/runs", body, content_type="application/json")
    assert says(response, 422, "budget_usd")


@pytest.mark.parametrize("query", [{"view": "mine"}, {"split": "train"}, {"view": "ai' OR 1=1"}])
def test_results_by_a_view_that_does_not_exist_are_refused(run, api_as, query):
    assert says(api_as(Role.VIEWER).get(f"/runs/{run.pk}/results", **query), 422, " is not known; allowed: ")


def test_an_action_that_does_not_exist_is_refused_with_those_that_do(run, api_as):
    assert says(api_as(Role.ADMIN).post(f"/runs/{run.pk}/dance"), 422, "allowed: pause, resume, cancel, retry")


@pytest.mark.parametrize("offset", [-1, "x", 10**40])
def test_a_page_that_cannot_be_is_refused(run, api_as, offset):
    response = api_as(Role.VIEWER).get(f"/runs/{run.pk}/trajectories", offset=offset)
    assert response.status_code == 422
    assert "offset" in response.json()["error"]


@pytest.mark.parametrize("path", ["/nowhere", "/runs/", "/runs/1/2/3", "/datasets/a/b", "/external/nowhere", "/"])
def test_an_address_that_no_route_knows_is_a_404_in_the_same_shape(run, api_as, path):
    for api in (api_as(Role.ADMIN), Api()):
        assert says(api.get(path), 404, "there is nothing at this address")
        assert says(api.post(path), 404, "there is nothing at this address")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("post", "/datasets", "GET"), ("get", "/token", "POST"), ("delete", "/runs", "GET, POST"),
     ("put", "/trajectories/1", "GET"), ("get", "/runs/1/pause", "POST")],
)  # fmt: skip
def test_a_method_that_an_address_does_not_take_is_a_405_that_names_those_it_takes(db, api_as, method, path, allowed):
    response = getattr(api_as(Role.ADMIN).client, method)(f"/api{path}")
    assert says(response, 405, f"{method.upper()} is not possible at this address; allowed: ")
    assert set(response["Allow"].split(", ")) == set(allowed.split(", "))


def test_a_fault_of_ours_is_a_500_in_the_same_shape(run, api_as, monkeypatch):
    def broken(run):
        raise RuntimeError("a secret of the server")

    monkeypatch.setattr("iba_site.api.progress_of", broken)
    api = api_as(Role.ADMIN)
    api.client.raise_request_exception = False
    response = api.get(f"/runs/{run.pk}")
    assert says(response, 500, "the server's log says what")
    assert "secret" not in response.content.decode()


@pytest.mark.parametrize("changes", [{"model": "dead"}, {"judges": ["offline-judge-a", "dead"]}])
def test_a_launch_on_an_endpoint_that_does_not_answer_is_a_422_with_the_remedy(run, api_as, offline_url, changes):
    Endpoint.objects.create(slug="dead", base_url="http://127.0.0.1:9/v1", model="m", family="f")
    Endpoint.objects.create(slug="grader", base_url="http://127.0.0.1:9/v1", model="m", family="g")
    wish = {"dataset": run.dataset.name, "methods": ["iba"], "model": "offline", "judges": ["grader"]}
    response = api_as(Role.ADMIN).post("/runs", {**wish, **changes})
    assert says(response, 422, "endpoint 'dead' (http://127.0.0.1:9/v1) cannot be reached")
    assert Run.objects.count() == 1


def test_a_budget_is_raised_lowered_and_lifted_and_never_to_what_is_spent(run, api_as):
    Run.objects.filter(pk=run.pk).update(status="paused", budget_usd=2, spent_usd=2, budget_hit=True)
    api = api_as(Role.ADMIN)
    assert says(api.patch(f"/runs/{run.pk}", {"budget_usd": 2}), 422, "has spent 2.0000 USD already")
    assert says(api.patch(f"/runs/{run.pk}", {"budget_usd": "much"}), 422, "budget_usd")
    assert says(api.patch(f"/runs/{run.pk}", {}), 422, "budget_usd")
    assert Run.objects.get(pk=run.pk).budget_hit
    changed = api.patch(f"/runs/{run.pk}", {"budget_usd": 5}).json()
    assert (changed["budget_usd"], changed["status"]) == (5, "paused")
    assert not Run.objects.get(pk=run.pk).budget_hit
    assert api.post(f"/runs/{run.pk}/resume").status_code == 200
    assert api.patch(f"/runs/{run.pk}", {"budget_usd": None}).json()["budget_usd"] is None
    assert says(api.patch("/runs/987654321", {"budget_usd": 5}), 404, "nothing at this address")


@pytest.mark.parametrize("role", [Role.ADJUDICATOR, Role.VIEWER, Role.ANNOTATOR, ""])
def test_only_an_admin_changes_a_budget(run, api_as, role):
    assert says(api_as(role).patch(f"/runs/{run.pk}", {"budget_usd": 5}), 403, "does not allow")


# --- What comes back


def test_a_launch_answers_with_the_run_and_its_progress_can_be_watched_paused_and_cancelled(run, api_as, offline_url):
    api = api_as(Role.ADMIN)
    launched = api.post("/runs", {"dataset": run.dataset.name, "methods": ["iba"], "model": "offline", "limit": 1})
    assert launched.status_code == 201
    made = launched.json()
    assert (made["status"], made["simulated"], made["model"]) == ("running", True, "offline")
    assert Run.objects.get(pk=made["id"]).created_by.username == "admin-person"
    progress = api.get(f"/runs/{made['id']}").json()
    assert (progress["planned"], progress["queued"], progress["done"]) == (1, 1, 0)
    assert progress["run"] == made
    assert api.post(f"/runs/{made['id']}/pause").json()["status"] == "paused"
    assert api.post(f"/runs/{made['id']}/resume").json()["status"] == "running"
    assert api.post(f"/runs/{made['id']}/cancel").json()["status"] == "cancelled"
    assert api.get(f"/runs/{made['id']}").json()["cancelled"] == 1


def test_results_hold_both_denominators_and_say_where_they_come_from(run, api_as):
    found = api_as(Role.VIEWER).get(f"/runs/{run.pk}/results").json()
    assert set(found) >= {"run_id", "simulated", "manifest_sha256", "view", "cells", "paired"}
    for cell in found["cells"]:
        assert cell["planned"] == cell["evaluated"] + cell["errors"] + cell["unscored"]
        assert set(cell["task_success"]) >= {"mean", "low", "high", "n"}


def test_trajectories_are_listed_by_page_and_shown_whole(run, api_as):
    api = api_as(Role.VIEWER)
    page = api.get(f"/runs/{run.pk}/trajectories").json()
    assert page["total"] == len(page["items"]) == Trajectory.objects.count()
    assert page["next_offset"] is None
    assert set(page["items"][0]) == {"id", "task", "method", "repeat", "termination", "evidence_recall", "cost_usd"}
    assert api.get(f"/runs/{run.pk}/trajectories", offset=page["total"]).json()["items"] == []
    shown = api.get(f"/trajectories/{page['items'][0]['id']}").json()
    assert shown["run"] == run.pk
    assert shown["trajectory"]["format"] == 2
    assert shown["scores"]
    assert {score["value"] for score in shown["scores"]} <= {"pass", "fail", None}


def test_lists_ask_the_database_a_fixed_number_of_times(run, api_as, django_assert_max_num_queries):
    api = api_as(Role.VIEWER)
    with django_assert_max_num_queries(9):
        api.get(f"/runs/{run.pk}/trajectories")
    with django_assert_max_num_queries(9):
        api.get("/runs")
    assert Unit.objects.count() > 4


def test_results_are_given_whole_as_they_are_described(run, api_as):
    """Nothing that the results hold is dropped on its way out, and nothing is added but where they come from."""
    found = api_as(Role.VIEWER).get(f"/runs/{run.pk}/results").json()
    own = ("run_id", "simulated", "gold_seen", "manifest_sha256", "even_if_invalid", "dataset_validity")
    marks = {name: found.pop(name) for name in own}
    assert marks["run_id"] == run.pk
    assert marks["dataset_validity"]["valid"] is None
    assert found == json.loads(json.dumps(results_of(run)))


def test_a_trajectory_tells_who_may_see_gold_finding_from_reading(run, api_as):
    found = api_as(Role.VIEWER).get(f"/trajectories/{Trajectory.objects.first().pk}").json()
    assert found["gold_withheld"] == ""
    assert found["scores"]
    for score in found["scores"]:
        assert {"checkpoint", "kind", "value", "origin", "gap", "over_applied"} <= set(score)
        assert set(score["seen_event_ids"]) <= set(score["gold_event_ids"])
    preference = next(score for score in found["scores"] if score["kind"] == "preference")
    assert preference["dimension"]
    assert all(set(verdict) == {"source", "name", "value", "reason"} for verdict in preference["verdicts"])
