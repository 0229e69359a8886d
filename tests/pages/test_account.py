"""One's own API tokens on a page."""

from __future__ import annotations

import html
import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from bench.models import ApiToken
from bench.tokens import Scope, make_token

FORM = {"name": "notebook", "scopes": ["read"]}
HTMX = {"HX-Request": "true"}


@pytest.fixture
def ann(db) -> User:
    return User.objects.create_user("ann")


@pytest.fixture
def page(client, ann):
    client.force_login(ann)
    return client


def shown(answer) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


def test_the_page_needs_a_sign_in(client, db):
    answer = client.get(reverse("account"))
    assert (answer.status_code, answer["Location"]) == (302, "/login/?next=/account/")


def test_without_a_token_the_page_says_what_one_is_for(page):
    assert "No token yet A script or an agent signs in with a token." in shown(page.get(reverse("account")))


def test_own_tokens_are_listed_with_scopes_and_times_and_nobody_elses(page, ann):
    make_token(user=ann, name="laptop", scopes=[Scope.READ, Scope.GOLD])
    make_token(user=User.objects.create_user("ben"), name="bens")
    ApiToken.objects.filter(name="laptop").update(created_at="2026-03-04T10:42Z", last_used_at="2026-03-05T11:43Z")
    make_token(user=ann, name="idle", scopes=[Scope.AGENT])
    text = shown(page.get(reverse("account")))
    assert "laptop gold read 4 Mar 2026, 10:42 5 Mar 2026, 11:43 Revoke laptop" in text
    assert re.search(r"idle agent [^a-z]+ \w{3} \d{4}, \d\d:\d\d never Revoke idle", text)
    assert "bens" not in text


def test_a_new_token_works_and_its_text_is_shown_this_once(page, client, ann):
    answer = page.post(reverse("account"), FORM)
    (token,) = re.findall(r"iba_[\w-]{43}", answer.content.decode())
    assert client.get("/api/datasets", headers={"authorization": f"Bearer {token}"}).status_code == 200
    row = ApiToken.objects.get()
    assert (row.user, row.name, row.scopes) == (ann, "notebook", ["read"])
    assert answer["Cache-Control"] == "no-store"
    assert token not in page.get(reverse("account")).content.decode()


def test_the_fragment_alone_comes_to_a_page_that_is_there(page):
    answer = page.post(reverse("account"), FORM, headers=HTMX)
    assert answer.content.decode().strip().startswith('<div id="account-tokens"')
    assert answer["Vary"].startswith("HX-Request")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": " "}, "Give it a name, so that you know it later."),
        ({"name": "x" * 61}, "at most 60 characters"),
        ({"name": "a\0b"}, "Null characters are not allowed."),
        ({"scopes": []}, "Choose what it may be used for."),
        ({"scopes": ["root"]}, "root is not one of the available choices."),
    ],
)
def test_what_does_not_fit_is_said_beside_its_field_and_nothing_is_made(page, change, sentence):
    answer = page.post(reverse("account"), {**FORM, **change})
    assert answer.status_code == 422
    assert sentence in shown(answer)
    assert not ApiToken.objects.exists()


def test_a_name_is_text_and_never_markup(page):
    assert "<b>x" not in page.post(reverse("account"), {**FORM, "name": "<b>x"}).content.decode()


def test_a_revoked_token_opens_nothing_and_leaves_the_list(page, client, ann):
    token = make_token(user=ann, name="laptop")
    answer = page.post(reverse("account-revoke", args=[ApiToken.objects.get().pk]))
    assert "laptop is revoked. It opens nothing any more." in shown(answer)
    assert "No token yet" in shown(answer)
    assert client.get("/api/datasets", headers={"authorization": f"Bearer {token}"}).status_code == 401


def test_to_revoke_twice_changes_nothing(page, ann):
    make_token(user=ann, name="laptop")
    address = reverse("account-revoke", args=[ApiToken.objects.get().pk])
    page.post(address)
    when = ApiToken.objects.get().revoked_at
    assert page.post(address).status_code == 200
    assert ApiToken.objects.get().revoked_at == when


def test_nobody_revokes_anothers_token_and_none_is_revoked_by_a_link(page):
    make_token(user=User.objects.create_user("ben"), name="bens")
    address = reverse("account-revoke", args=[ApiToken.objects.get().pk])
    assert page.post(address).status_code == 404
    assert page.get(address).status_code == 405
    assert ApiToken.objects.get().revoked_at is None


def test_however_many_tokens_the_page_asks_the_database_as_often(page, ann, django_assert_max_num_queries):
    for n in range(20):
        make_token(user=ann, name=f"t{n}")
    with django_assert_max_num_queries(5):  # session, user, groups, user's permissions, tokens
        page.get(reverse("account"))
