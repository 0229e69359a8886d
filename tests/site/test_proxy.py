"""HTTPS=1 BEHIND_PROXY=1 as documented, with a real nginx in front that has the documented configuration."""

from __future__ import annotations

import re
import ssl

import httpx
import pytest
from django.contrib.auth.models import User

from annotation.batches import Choice, create_batch
from annotation.models import DraftGrade
from bench.models import Trajectory
from iba_site import front
from tests.annotation.factories import make_cast, make_run
from tests.site.conftest import PUBLIC_NAME
from tests.site.real_site import nginx_path

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(nginx_path() is None, reason="no nginx here; tools/proxy installs it"),
]
PASSWORD = "correct horse battery"


@pytest.fixture
def visitor(proxied):
    """A browser that knows the proxy under its public name."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    with httpx.Client(
        base_url=f"https://127.0.0.1:{proxied.port}", headers={"Host": PUBLIC_NAME}, verify=trusting, timeout=60,
        trust_env=False,
    ) as client:  # fmt: skip
        yield client


@pytest.fixture
def cast(visitor):
    found = make_cast()
    for user in found.values():
        user.set_password(PASSWORD)
        user.save()
    return found


def sign_in(visitor: httpx.Client, name: str) -> httpx.Response:
    form = visitor.get("/login/")
    assert form.status_code == 200
    return send(visitor, "/login/", username=name, password=PASSWORD)


def send(visitor: httpx.Client, path: str, **fields: str) -> httpx.Response:
    """A form as a browser sends it, with the token of its cookie and where it came from."""
    fields["csrfmiddlewaretoken"] = visitor.cookies["csrftoken"]
    return visitor.post(
        path, data=fields, headers={"Referer": f"https://{PUBLIC_NAME}{path}", "Origin": f"https://{PUBLIC_NAME}"}
    )


def test_a_rater_signs_in_and_grades_behind_the_proxy(visitor, cast):
    run = make_run()
    Trajectory.objects.update(audit=True)
    create_batch(run=run, choice=Choice.AUDIT, size=5, raters_wanted=1, created_by=cast["ada"])
    welcome = sign_in(visitor, "ann")
    assert (welcome.status_code, welcome.headers["location"]) == (302, "/")
    assert "Secure" in welcome.headers["set-cookie"]
    taken = send(visitor, "/annotate/next/")
    page = visitor.get(taken.headers["location"])
    assert page.status_code == 200
    save_url = re.search(r'formaction="(/annotate/\d+/grades/\d+/)"', page.text)[1]
    assert send(visitor, save_url, value="pass").status_code == 302
    assert DraftGrade.objects.get().value == "pass"


def test_the_live_page_of_a_run_refreshes_behind_the_proxy(visitor, cast):
    run = make_run()
    sign_in(visitor, "ada")
    fragment = visitor.get(f"/runs/{run.pk}/", headers={"HX-Request": "true"})
    assert fragment.status_code == 200
    assert 'id="run-live"' in fragment.text
    assert "<html" not in fragment.text


def test_health_answers_without_sign_in_and_without_a_redirect(visitor, db):
    assert visitor.get("/healthz").json()["database"] == "ok"


def test_a_page_is_not_redirected_to_itself(visitor, db):
    assert visitor.get("/").headers["location"] == "/login/?next=/"


@pytest.mark.parametrize(("size", "status"), [(front.BODY_BYTES, 401), (front.BODY_BYTES + 1, 413), (3 << 20 | 1, 413)])
def test_uploads_have_the_same_limit_behind_the_proxy(visitor, db, size, status):
    token = {"Authorization": "Bearer iba_wrong"}
    assert visitor.post("/api/runs", content=b" " * size, headers=token).status_code == status


def test_the_clients_address_is_the_one_that_the_proxy_saw(visitor, cast):
    """Ten sign-ins a minute an address; a forged header does not make it another."""
    body = {"username": "ann", "password": PASSWORD}
    answers = [
        visitor.post("/api/token", json=body, headers={"X-Forwarded-For": f"10.0.0.{n}"}).status_code
        for n in range(25)  # two processes count for themselves
    ]
    assert 429 in answers
    assert User.objects.count() == len(cast)
    assert not Trajectory.objects.exists()
