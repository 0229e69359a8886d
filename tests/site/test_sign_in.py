"""Guessing passwords is slowed, hashing them stops nobody, and a token can be taken back."""

from __future__ import annotations

import json
import threading
from datetime import timedelta

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db.models import F

from bench.models import ApiToken
from bench.tokens import make_token
from iba_site import brake, hashing

PASSWORD = "correct horse battery"
WRONG = "incorrect horse"


@pytest.fixture
def ann(db, settings):
    hashers = settings.PASSWORD_HASHERS
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher", *hashers]
    return User.objects.create_user("ann", password=PASSWORD)


def try_page(client, password, *, name="ann", address="10.0.0.1"):
    return client.post("/login/", {"username": name, "password": password}, REMOTE_ADDR=address)


def try_api(client, password, *, address="10.0.0.1"):
    body = json.dumps({"username": "ann", "password": password})
    return client.post("/api/token", body, content_type="application/json", REMOTE_ADDR=address)


def test_the_eighth_wrong_password_closes_the_name_for_that_address_only(ann, client):
    assert [try_page(client, WRONG).status_code for _ in range(9)] == [200] * 7 + [429] * 2
    shut = try_page(client, PASSWORD)
    assert shut.status_code == 429
    assert "Too many wrong passwords for this name from your address. Try again in 10 minutes." in shut.content.decode()
    assert try_page(client, PASSWORD, address="10.0.0.2").status_code == 302


def test_the_page_and_the_api_tell_the_time_that_is_really_left(ann, client):
    for _ in range(8):
        try_page(client, WRONG)
    AccessAttempt.objects.update(attempt_time=F("attempt_time") - timedelta(minutes=7, seconds=30))
    for answer in (try_page(client, PASSWORD), try_api(client, PASSWORD)):
        assert answer.status_code == 429
        assert "Try again in 3 minutes." in answer.content.decode()  # 10:00 - 7:30 = 2:30
        assert 140 < int(answer["Retry-After"]) <= 150
    AccessAttempt.objects.update(attempt_time=F("attempt_time") - timedelta(minutes=2, seconds=31))
    assert try_page(client, PASSWORD).status_code == 302


def test_the_wait_ends_with_the_oldest_try_without_which_the_name_would_be_open(ann, client, rf):
    for browser, count in (("old", 3), ("new", 5)):
        for _ in range(count):
            client.post("/login/", {"username": "ann", "password": WRONG}, headers={"user-agent": browser})
    AccessAttempt.objects.filter(user_agent="old").update(attempt_time=F("attempt_time") - timedelta(minutes=9))
    assert 50 < brake.seconds_left(rf.get("/"), "ann") <= 60  # 3 + 5 = 8; the 3 are forgotten after a minute


@pytest.mark.parametrize(("seconds", "words"), [
    (1, "1 second"), (59, "59 seconds"), (60, "1 minute"), (61, "2 minutes"), (600, "10 minutes"),
])  # fmt: skip
def test_a_wait_is_never_said_to_be_shorter_than_it_is(seconds, words):
    assert brake.in_words(seconds) == words


@pytest.mark.parametrize(("said", "counts"), [
    ("203.0.113.7", "203.0.113.7"), ("::ffff:203.0.113.7", "203.0.113.7"), ("2001:db8:1:2:a:b:c:d", "2001:db8:1:2::"),
    ("2001:db8:1:2::9", "2001:db8:1:2::"), ("2001:db8:1:3::9", "2001:db8:1:3::"), ("", "::"), ("unix:", "::"),
])  # fmt: skip
def test_a_client_is_an_address_or_the_network_that_is_given_to_one(rf, said, counts):
    assert brake.address_of(rf.get("/", REMOTE_ADDR=said)) == counts


def test_no_header_and_no_other_address_of_the_same_network_gets_around_the_brake(ann, client):
    tries = [
        client.post(
            "/login/",
            {"username": "ann", "password": WRONG},
            REMOTE_ADDR=f"2001:db8::{number:x}",
            headers={"x-forwarded-for": f"10.0.0.{number}", "x-real-ip": f"10.0.0.{number}", "user-agent": f"{number}"},
        ).status_code
        for number in range(1, 10)
    ]
    assert tries == [200] * 7 + [429] * 2
    assert try_page(client, PASSWORD, address="2001:db8:0:1::1").status_code == 302


def test_another_name_from_the_same_address_is_not_held_up(ann, client):
    for _ in range(9):
        try_page(client, WRONG, name="somebody else")
    assert try_page(client, PASSWORD).status_code == 302


def test_the_api_has_the_same_brake_and_says_so_in_its_own_shape(ann, client):
    for _ in range(8):
        try_page(client, WRONG)
    refused = try_api(client, PASSWORD)
    assert refused.status_code == 429
    assert refused.json()["error"].startswith("Too many wrong passwords for this name")


def test_a_right_password_forgets_the_wrong_ones(ann, client):
    for _ in range(3):
        for _ in range(5):
            try_page(client, WRONG)
        assert try_page(client, PASSWORD).status_code == 302
        client.logout()


def test_one_password_is_hashed_at_a_time(monkeypatch):
    inside, go_on = threading.Semaphore(0), threading.Semaphore(0)

    def held_up(self, password, salt, iterations=None):
        inside.release()
        assert go_on.acquire(timeout=60)
        return "hash"

    monkeypatch.setattr(hashing.PBKDF2PasswordHasher, "encode", held_up)
    monkeypatch.setattr(hashing, "release_connection", lambda: None)  # threads of a test have none
    threads = [threading.Thread(target=lambda: hashing.PatientHasher().encode(PASSWORD, "salt")) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert inside.acquire(timeout=60)
    assert not inside.acquire(timeout=0.2)
    for _ in threads:
        go_on.release()
    for thread in threads:
        thread.join()


def test_more_sign_ins_than_can_wait_are_told_so(ann, client, monkeypatch, settings):
    settings.PASSWORD_HASHERS = ["iba_site.hashing.PatientHasher"]
    monkeypatch.setattr(hashing, "_places", threading.BoundedSemaphore(1))
    hashing._places.acquire()
    page, api = try_page(client, PASSWORD, name="bo"), try_api(client, PASSWORD)
    assert "Many people sign in at this moment. Try again in a few seconds." in page.content.decode()
    assert page.status_code == 503
    assert api.status_code in {503, 401}  # 401: the name is not known under this hasher


def test_a_revoked_token_opens_nothing(ann, client):
    kept, gone = make_token(user=ann, name="kept"), make_token(user=ann, name="gone")
    call_command("revoke_token", str(ApiToken.objects.get(name="gone").pk))
    answers = [client.get("/api/datasets", headers={"authorization": f"Bearer {token}"}) for token in (kept, gone)]
    assert [answer.status_code for answer in answers] == [200, 401]


def test_all_tokens_of_a_user_can_be_revoked_and_the_rest_listed(ann, capsys):
    make_token(user=ann, name="laptop")
    make_token(user=User.objects.create_user("ben"), name="agent")
    call_command("revoke_token", "--user", "ann", "--json", "-")
    left = json.loads(capsys.readouterr().out)["in_use"]
    assert [(row["user"], row["name"]) for row in left] == [("ben", "agent")]


def test_a_token_that_is_not_in_use_cannot_be_revoked(db):
    with pytest.raises(CommandError, match="no token 7 is in use"):
        call_command("revoke_token", "7")


@pytest.mark.parametrize("path", ["/", "/login/", "/runs/", "/annotate/", "/api/runs", "/api/nowhere", "/nowhere/"])
def test_no_page_and_no_answer_of_the_api_may_be_kept_in_a_cache(admin_client, path):
    assert "no-store" in admin_client.get(path)["Cache-Control"]


def test_a_save_that_meets_a_sign_in_under_way_gets_the_page_and_is_not_led_back(admin_client):
    fragment = admin_client.get("/login/?next=/annotate/1/save/", headers={"HX-Request": "true"})
    assert fragment.status_code == 200
    assert admin_client.get("/login/?next=/annotate/").headers["location"] == "/annotate/"
