"""Every route with odd values in every parameter: whatever the answer is, it is no fault of ours."""

from __future__ import annotations

import json
import os
import re
from urllib.parse import quote, urlencode

import pytest
from django.contrib.auth.models import Group, User
from django.http import QueryDict
from django.test import Client
from django.urls import URLResolver, get_resolver
from django.utils import timezone
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from annotation.batches import Choice, create_batch
from annotation.queue import take_next
from bench.models import Trajectory
from bench.tokens import Scope, make_token
from iba_site.api import api
from tests.annotation.factories import make_run

pytestmark = pytest.mark.django_db

ODD = [
    "\x00", "a\x00b", "３", "²", "-1", "0", "1", "9" * 19, "9" * 20, "9" * 5000, "1e999", "NaN", "", "%", "%00", "'",
    "<script>x", "../..", "a" * 300, "\u202e", "\r\nX: y", "combined", "dining",
]  # fmt: skip
PREFIXED = ["comment-" + "9" * 30, "comment-３", "grade-1", "anchor-1"]  # names that a form makes from a number
odd = st.sampled_from(ODD)
odd_json = st.sampled_from([
    *ODD, None, True, -1, 0, 1.5, 10**18, 10**40, float("nan"), float("inf"), "\ud800", [], {}, [[]], ["\x00"],
    {"\x00": "\udc00"}, [{"stage": "\x00", "summary": None}],
])  # fmt: skip


TIMES = int(os.environ.get("FUZZ", "1"))  # FUZZ=10 tools/test tests/site/test_fuzz.py: ten times as many, other ones


def examples(count: int) -> settings:
    return settings(
        max_examples=count * TIMES, deadline=None, database=None, derandomize=TIMES == 1, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip


def pages(patterns=None, before=""):
    """Every address of a page, its parameters in braces."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        text = re.sub(r"\(\?P<(\w+)>[^)]*\)", r"{\1}", str(pattern.pattern)).strip("^$")
        path = before + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", text)
        if not isinstance(pattern, URLResolver):
            yield path
        elif not path.startswith("api/"):
            yield from pages(pattern.url_patterns, path)


PAGES = sorted(set(pages()) - {"logout/"})


@pytest.fixture
def admin(db):
    user = User.objects.create_user("ada")
    user.groups.add(Group.objects.get(name="admin"))
    return user


@pytest.fixture
def known(admin):
    """What stands in an address where nothing odd does."""
    run, trajectory = make_run(personas=1), Trajectory.objects.first()
    create_batch(run=run, choice=Choice.DOMAIN, domain="dining", size=1, raters_wanted=1, created_by=admin)
    checkpoint = str(trajectory.scores.first().checkpoint_id)
    found = {"pk": str(run.pk), "run_id": str(run.pk), "name": "small", "slug": "dining", "verb": "pause"}
    found |= {"action": "pause", "trajectory_id": str(trajectory.pk), "checkpoint_id": checkpoint, "unit_id": "1"}
    return found | {"personas": "p0", "annotate": str(take_next(rater_id=admin.pk, now=timezone.now()).pk)}


def usual_in(page, known):
    """``known`` for one page: some names mean another thing there."""
    if "personas/" in page:
        known = known | {"slug": known["personas"]}
    if page.startswith("annotate/"):
        known = known | {"pk": known["annotate"]}
    if page.startswith("datasets/") and "checkpoints/" in page:
        known = known | {"pk": known["checkpoint_id"], "verb": "retire"}
    if page.startswith("trajectories/"):
        known = known | {"pk": known["trajectory_id"]}
    return {name: known[name] for name in re.findall(r"{(\w+)}", page)}


@pytest.fixture
def browser(admin):
    client = Client(raise_request_exception=False)
    client.force_login(admin)
    return client


def address_of(path, place):
    return path.format(**{name: quote(value, safe="") for name, value in place.items()})


def places(path, known):
    return st.fixed_dictionaries({name: st.just(value) | odd for name, value in usual_in(path, known).items()})


def test_the_list_of_pages_knows_them_all():
    assert {"", "login/", "runs/{pk}/", "runs/{pk}/{verb}/", "annotate/{pk}/grades/{checkpoint_id}/"} <= set(PAGES)


def fields_asked_for(monkeypatch, ask):
    """The names of the fields that the page looks for, of themselves and as far as ``ask`` gets in it."""
    names = set()

    def noting(plain):
        def look(self, key, *more, **options):
            if isinstance(self, QueryDict):
                names.add(key)
            return plain(self, key, *more, **options)

        return look

    with monkeypatch.context() as patch:
        patch.setattr(QueryDict, "__getitem__", noting(QueryDict.__getitem__))
        patch.setattr(QueryDict, "getlist", noting(QueryDict.getlist))
        ask({})
        ask(dict.fromkeys(names, "1"))
    return sorted(names | set(PREFIXED))


def test_the_fields_of_a_page_are_found(browser, known, monkeypatch):
    persona = fields_asked_for(monkeypatch, lambda sent: browser.get("/datasets/small/personas/p0/", sent))
    sign_in = fields_asked_for(monkeypatch, lambda sent: Client().post("/login/", sent))
    assert {"channel", "role", "words", "page"} <= set(persona)
    assert {"username", "password"} <= set(sign_in)


@pytest.mark.parametrize("page", PAGES)
def test_an_address_with_usual_values_leads_to_its_page(browser, known, page):
    path = "/" + address_of(page, usual_in(page, known))
    allowed = {403} if page == "annotate/read/{pk}/" else {200, 302, 405}  # blind pages are not for administrators
    assert browser.get(path).status_code in allowed or page == "healthz", path


@pytest.mark.parametrize("page", PAGES)
def test_no_odd_value_in_an_address_or_a_query_breaks_a_page(browser, known, page, monkeypatch):
    usual = "/" + address_of(page, usual_in(page, known))
    fields = fields_asked_for(monkeypatch, lambda sent: browser.get(usual, sent))

    @examples(10)
    @given(places(page, known), st.dictionaries(st.sampled_from(fields), odd, max_size=2))
    def visit(place, query):
        path = "/" + address_of(page, place)
        assert well(page, browser.get(path, query)), (path, query)

    visit()


@pytest.mark.parametrize("page", PAGES)
def test_no_odd_value_in_a_form_breaks_a_page(browser, known, page, monkeypatch):
    path = "/" + address_of(page, usual_in(page, known))
    fields = fields_asked_for(monkeypatch, lambda sent: browser.post(path, sent))

    @examples(5)
    @given(st.dictionaries(st.sampled_from(fields), odd, max_size=6))
    def send(form):
        assert well(page, browser.post(path, form)), (path, form)

    send()


def well(page, answer):
    """No fault of ours. The health check may find that no worker runs, which is its work."""
    return answer.status_code < 500 or (page, answer.status_code) == ("healthz", 503)


OPERATIONS = [
    (method, path, operation)
    for path, methods in sorted(api.get_openapi_schema()["paths"].items())
    for method, operation in methods.items()
]


def body_of(operation):
    """JSON with the fields that the operation describes, odd values in them."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    name = content.get("schema", {}).get("$ref", "/").rpartition("/")[2]
    fields = api.get_openapi_schema()["components"]["schemas"][name]["properties"] if name else {}
    return st.fixed_dictionaries({}, optional=dict.fromkeys(fields, odd_json)) | odd_json


def test_the_list_of_operations_knows_them_all():
    found = {(method, path) for method, path, _ in OPERATIONS}
    assert {("post", "/api/token"), ("patch", "/api/runs/{run_id}"), ("post", "/api/external/runs")} <= found


@pytest.mark.parametrize(
    ("method", "path", "operation"), OPERATIONS, ids=lambda part: part if isinstance(part, str) else ""
)
def test_no_odd_value_breaks_an_operation_of_the_api(admin, known, method, path, operation):
    client = Client(
        raise_request_exception=False,
        headers={"authorization": f"Bearer {make_token(user=admin, name='fuzz', scopes=Scope)}"},
    )
    asked = [part["name"] for part in operation.get("parameters", []) if part["in"] == "query"]

    @examples(15)
    @given(places(path, known), st.fixed_dictionaries({}, optional=dict.fromkeys(asked, odd)), body_of(operation))
    def send(place, query, body):
        address = f"{address_of(path, place)}?{urlencode(query)}"
        answer = client.generic(method.upper(), address, json.dumps(body), content_type="application/json")
        assert answer.status_code < 500, (address, body, answer.content)
        assert answer.status_code < 400 or set(answer.json()) == {"error"}, (address, body, answer.content)

    send()


@pytest.mark.parametrize("sent", [
    '{"username": "\\u0000", "password": "x"}', '{"username": "\\ud800", "password": "x"}', "[" * 100_000,
    '{"username": NaN, "password": "x"}', '{"username": 1e999}', '{"a": ' + "9" * 5000 + "}", "\xff", "",
])  # fmt: skip
def test_json_that_is_none_or_cannot_be_kept_is_refused(db, settings, sent):
    answer = Client().generic("POST", "/api/token", sent.encode("latin1"), content_type="application/json")
    assert answer.status_code in {400, 422, 429}
    assert answer.json()["error"]


@pytest.mark.parametrize("path", ["/search/?q=%00", "/trajectories/?run=%00", "/?run=a%00", "/domains/a%00/", "/%00"])
def test_nul_in_an_address_is_no_address_of_ours(browser, path):
    assert browser.get(path).status_code == 404
