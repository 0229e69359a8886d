"""The site's own web server against clients that send too slowly, too much or not at all."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys

import pytest
import yaml

from iba_site import asgi, front, healthcheck
from iba_site.services import process
from tests.bench.live import ROOT
from tests.site.conftest import PUBLIC_NAME

pytestmark = pytest.mark.django_db(transaction=True)

SESSION = b"Cookie: sessionid=not-one-of-ours\r\n"
HALF_SENT = {
    "nothing": b"",
    "a request line": b"GET /login/ HT",
    "headers": b"GET /login/ HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    "a body": b"POST /login/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nusername=",
    "a body with a session": b"POST /login/ HTTP/1.1\r\nHost: localhost\r\n" + SESSION + b"Content-Length: 99\r\n\r\na",
    "a body in chunks": b"POST /login/ HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nuser",
}


@pytest.fixture
def half_sent(site):
    """``half_sent(n, start)``: n connections that have sent no more than ``start``."""
    with contextlib.ExitStack() as opened:

        def send(count: int, start: bytes) -> list[socket.socket]:
            dialled = [opened.enter_context(site.dial()) for _ in range(count)]
            for one in dialled:
                one.sendall(start)
            return dialled

        yield send


def answer_to(site, *parts: bytes) -> bytes:
    """All that comes back until the server closes. Sends on until the server has had enough."""
    with site.dial() as one:
        with contextlib.suppress(ConnectionError):
            for part in parts:
                one.sendall(part)
        return rest_of(one)


def rest_of(one: socket.socket) -> bytes:
    found = b""
    with contextlib.suppress(ConnectionError):
        while part := one.recv(65536):
            found += part
    return found


@pytest.mark.parametrize("what", HALF_SENT)
def test_half_sent_requests_do_not_stop_the_site(site, half_sent, what):
    half_sent(3 * asgi.THREADS, HALF_SENT[what])  # more than the threads of both processes
    with site.browser() as browser:
        assert browser.get("/login/").status_code == 200


@pytest.mark.parametrize("what", ["a request line", "headers", "a body", "a body in chunks"])
def test_a_client_that_sends_no_more_is_let_go(site, half_sent, what):
    (one,) = half_sent(1, HALF_SENT[what])
    answer = rest_of(one)  # ends only because the server closes
    assert answer.startswith(b"HTTP/1.1 4") or answer == b""


def test_an_announced_body_of_150_mb_is_refused_before_any_of_it_came(site):
    answer = answer_to(site, b"POST /api/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 157286400\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"a body of more than 65,536 bytes is not taken; signed in, or with a token, 2,621,440 are" in answer


def test_an_endless_body_in_chunks_is_refused_at_the_same_size(site):
    head = b"POST /api/token HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    answer = answer_to(site, head, *[chunk] * 40)
    assert answer.startswith(b"HTTP/1.1 413") or answer == b""  # a reset may overtake the answer
    with site.browser() as browser:
        assert browser.get("/login/").status_code == 200


@pytest.mark.parametrize(("size", "status"), [(front.BODY_BYTES, 401), (front.BODY_BYTES + 1, 413)])
def test_who_shows_a_token_may_send_what_the_application_takes(site, size, status):
    with site.browser(headers={"Authorization": "Bearer iba_wrong"}) as browser:
        assert browser.post("/api/runs", content=b" " * size).status_code == status


def test_an_answer_to_head_has_no_body_and_the_connection_stays_in_step(site):
    with site.dial() as one:
        one.sendall(b"HEAD /login/ HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2)
        one.sendall(b"HEAD /nowhere/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answers = rest_of(one)
    assert b"<html" not in answers
    assert answers.count(b"HTTP/1.1 ") == 3
    assert answers.count(b"\r\n\r\n") == 3


def test_a_header_with_an_underscore_is_not_taken_for_the_proxys_own(deployed):
    with deployed.browser(headers={"Host": PUBLIC_NAME}) as browser:
        forged = browser.get("/login/", headers={"X_Forwarded_Proto": "https"})
        said = browser.get("/login/", headers={"X-Forwarded-Proto": "https"})
    assert (forged.status_code, said.status_code) == (301, 200)


def test_bytes_that_no_address_can_hold_are_no_fault_of_ours(site):
    for target in (b"/login/?next=\xfc", b"/login/?next=%ff%00", b"/\xfc/", b"/%ff/"):
        answer = answer_to(site, b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert not answer.startswith(b"HTTP/1.1 5"), target


def test_the_containers_health_check_is_content_with_a_site_under_its_own_name_only(deployed):
    deployed.wait()
    assert subprocess.run(health_command(), cwd=ROOT, env=deployed.environment).returncode == 0
    nowhere = {**deployed.environment, "PORT": str(process.free_port())}
    assert subprocess.run(health_command(), cwd=ROOT, env=nowhere).returncode == 1


@pytest.mark.parametrize(
    ("hosts", "name"),
    [("", "localhost"), ("*", "localhost"), (".example.org,localhost", "example.org"), ("a.org,b.org", "a.org")],
)
def test_the_health_check_asks_under_the_first_allowed_host(monkeypatch, hosts, name):
    monkeypatch.setenv("ALLOWED_HOSTS", hosts)
    assert healthcheck.own_name() == name


def health_command() -> list[str]:
    """The command of the compose file for the web container, after its ``python``, which is ours here."""
    command = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["web"]["healthcheck"]["test"]
    assert command[:2] == ["CMD", "python"]
    return [sys.executable, *command[2:]]
