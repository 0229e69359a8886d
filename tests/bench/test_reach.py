"""What a launch and `add_endpoint` find out about a server, against servers that answer over HTTP."""

from __future__ import annotations

import io
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command

from bench.models import Endpoint, ModelCall, OutageRow, Run
from bench.runs.claim import resume_run, retry_failed
from bench.runs.endpoints import EndpointUnusable, resolve_endpoint
from bench.runs.probes import still_away
from bench.runs.reach import check_reachable
from tests.agents.support import Bench, completion
from tests.annotation.factories import make_run

pytestmark = pytest.mark.django_db

MODELS = {"object": "list", "data": [{"id": "m"}]}


class Server:
    """A model server whose API begins at ``root``. ``refusal``: its status for a system message.

    ``hiccups``: how many requests it refuses first, whatever they say. ``elsewhere``: what it answers outside the API.
    """

    def __init__(self, root="/v1", *, refusal=None, hiccups=0, listed=True, elsewhere=(404, {})):
        self.root, self.refusal, self.hiccups, self.listed, self.elsewhere = root, refusal, hiccups, listed, elsewhere
        self.requests = []

    def get(self, path):
        return (200, MODELS) if self.listed and path == f"{self.root}/models" else self.elsewhere

    def post(self, path, request):
        if path != f"{self.root}/chat/completions":
            return self.elsewhere
        if "messages" not in request:
            return 422, {"detail": "messages: field required"}
        self.requests.append(request)
        if len(self.requests) <= self.hiccups:
            return self.refusal or 500, {"error": {"message": "try again"}}
        roles = [message["role"] for message in request["messages"]]
        if self.refusal and "system" in roles:
            return self.refusal, {"error": {"message": "Conversation roles must alternate user/assistant"}}
        return 200, completion("fine")


@contextmanager
def serving(server):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.answer(*server.get(self.path))

        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self.answer(*server.post(self.path, request))

        def answer(self, status, body):
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            """Keeps the test output quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


def register(url, *more, slug="x"):
    out = io.StringIO()
    call_command(
        "add_endpoint", slug, "--base-url", url, "--model", "m", "--family", "f", *more,
        "--json", "-", stdout=out, stderr=io.StringIO(),
    )  # fmt: skip
    return json.loads(out.getvalue())


@pytest.mark.parametrize("status", [400, 422, 500])
def test_a_model_that_refuses_a_system_message_is_found_when_it_is_registered(status):
    server = Server(refusal=status)
    with serving(server) as url:
        assert register(f"{url}/v1")["system_role"] is False
    assert [[m["role"] for m in request["messages"]] for request in server.requests] == [
        ["system", "user"],
        ["user"],
        ["system", "user"],
    ]
    assert Endpoint.objects.get(slug="x").system_role is False


def test_a_model_that_takes_a_system_message_is_asked_once_and_the_answer_is_in_the_books():
    server = Server()
    with serving(server) as url:
        assert register(f"{url}/v1")["system_role"] is True
        check_reachable("x")  # a launch has nothing left to ask
    assert len(server.requests) == 1
    assert list(ModelCall.objects.values_list("stage", "tokens_in", "unit_id")) == [("probe", 100, None)]


def test_one_hiccup_is_not_taken_for_a_model_without_a_system_role():
    """Refused, answered without, and answered with: it was something else. The next launch asks again."""
    server = Server(hiccups=1)
    with serving(server) as url:
        assert register(f"{url}/v1")["system_role"] is None
        assert resolve_endpoint("x").system_role
        check_reachable("x")
    assert Endpoint.objects.get(slug="x").system_role is True


@pytest.mark.parametrize("status", [404, 429, 503])
def test_other_refusals_say_nothing_about_the_system_role(status):
    server = Server(refusal=status)
    with serving(server) as url:
        assert register(f"{url}/v1")["system_role"] is None
    assert len(server.requests) == 1


def test_what_is_said_about_the_system_role_is_not_asked():
    server = Server()
    with serving(server) as url:
        assert register(f"{url}/v1", "--no-system-role")["system_role"] is False
    assert not server.requests


def test_a_server_that_is_registered_before_it_runs_is_asked_at_the_launch():
    said = register("http://127.0.0.1:9/v1")
    assert (said["system_role"], "cannot be reached" in said["unchecked"]) == (None, True)
    with serving(Server(refusal=400)) as url:
        Endpoint.objects.update(base_url=f"{url}/v1")
        check_reachable("x")
    assert resolve_endpoint("x").system_role is False


def test_an_endpoint_from_before_anybody_asked_is_asked_at_the_next_launch():
    register("http://127.0.0.1:9/v1", "--system-role")  # as all were taken to be
    register("http://127.0.0.1:9/v1", "--no-system-role", slug="y")
    import_module("bench.migrations.0020_system_role_of_earlier_endpoints_unknown").forget_what_was_assumed(apps, None)
    assert dict(Endpoint.objects.values_list("slug", "system_role")) == {"x": None, "y": False}
    with serving(Server(refusal=400)) as url:
        Endpoint.objects.update(base_url=f"{url}/v1")
        check_reachable("x")
    assert Endpoint.objects.get(slug="x").system_role is False


@pytest.mark.parametrize("go_on", [resume_run, retry_failed])
def test_a_run_from_before_anybody_asked_goes_on_with_what_its_model_and_judges_take(go_on):
    """Both refuse a system message; nobody was asked when the run was launched."""
    run = make_run(personas=1)
    run.manifest["policy"]["panel"] = ["judge"]
    Run.objects.filter(pk=run.pk).update(model="x", status="cancelled", manifest=run.manifest)
    with serving(Server(refusal=400)) as url:
        for slug in ("x", "judge"):
            Endpoint.objects.create(slug=slug, base_url=f"{url}/v1", model="m", family="f")
        go_on(run.pk)
    assert dict(Endpoint.objects.values_list("slug", "system_role")) == {"x": False, "judge": False}


def test_an_endpoint_that_was_away_is_asked_by_the_probe_that_finds_it_back():
    Endpoint.objects.create(slug="x", base_url="http://127.0.0.1:9/v1", model="m", family="f")
    run = make_run(personas=1)
    Run.objects.filter(pk=run.pk).update(model="x", status="cancelled")
    resume_run(run.pk)
    assert Endpoint.objects.get(slug="x").system_role is None
    row = OutageRow(away="endpoint 'x'", endpoint="x")
    with serving(Server(refusal=400)) as url:
        Endpoint.objects.update(base_url=f"{url}/v1")
        assert still_away(row) == ""
    assert Endpoint.objects.get(slug="x").system_role is False


def test_a_registered_model_without_a_system_role_gets_the_system_text_from_its_user():
    """From the command to the wire."""
    server = Server(refusal=400)
    with serving(server) as url:
        register(f"{url}/v1")
        endpoint = resolve_endpoint("x")
        asked = [{"role": "system", "content": "Be just."}, {"role": "user", "content": "Which seat?"}]
        reply = Bench().llm(endpoint.base_url, system_role=endpoint.system_role).complete(asked, stage="act")
    assert reply.text == "fine"
    assert server.requests[-1]["messages"] == [{"role": "user", "content": "Be just.\n\nWhich seat?"}]


@pytest.mark.parametrize(("option", "value"), [("price-in", "nan"), ("price-out", "-1"), ("timeout-s", "inf")])
def test_a_price_or_wait_that_cannot_be_is_refused_when_an_endpoint_is_registered(option, value):
    with pytest.raises(CommandError, match=f"{option} is .*; give a number of at least"):
        register("http://127.0.0.1:9/v1", f"--{option}={value}")
    assert not Endpoint.objects.exists()


LIKE_A_PAGE = (200, {"error": "Unexpected endpoint or method. (GET /models). Returning 200 anyway"})


@pytest.mark.parametrize("elsewhere", [(404, {}), (405, {}), LIKE_A_PAGE], ids=["404", "405", "200 anyway"])
@pytest.mark.parametrize("listed", [True, False], ids=["with a list", "without a list of models"])
@pytest.mark.parametrize("given", ["", "/", "/v1/chat/completions"])
def test_an_address_beside_the_api_is_refused_with_the_one_that_works(elsewhere, listed, given):
    with serving(Server(listed=listed, elsewhere=elsewhere)) as url:
        Endpoint.objects.create(slug="x", base_url=url + given, model="m", family="f")
        with pytest.raises(EndpointUnusable) as caught:
            check_reachable("x")
    answers = (
        f"endpoint 'x': {url}{given} answers at {url}/v1: set it with `manage.py add_endpoint x --base-url {url}/v1`"
    )
    assert str(caught.value).startswith(answers)


def test_an_address_beside_the_api_is_not_registered():
    with serving(Server()) as url, pytest.raises(CommandError, match=f"{url} answers at {url}/v1: set it with"):
        register(url)
    assert not Endpoint.objects.exists()


@pytest.mark.parametrize("root", ["", "/v1", "/api/v3", "/openai/deployments/m"])
@pytest.mark.parametrize("listed", [True, False])
def test_an_address_where_completions_are_made_is_taken_whatever_its_form(root, listed):
    with serving(Server(root, listed=listed)) as url:
        Endpoint.objects.create(slug="x", base_url=url + root, model="m", family="f")
        check_reachable("x")


def test_no_address_is_proposed_where_none_works():
    with serving(Server("/somewhere")) as url:
        Endpoint.objects.create(slug="x", base_url=url, model="m", family="f")
        check_reachable("x")  # a server may answer a name that it knows; the first completion settles it


def test_a_new_address_keeps_the_key_that_was_stored(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("sk-kept\n"))
    with serving(Server()) as url:
        assert register(f"{url}/v1", "--key-stdin")["created"]
        assert not register(f"{url}/v1")["created"]
    assert resolve_endpoint("x").api_key == "sk-kept"
