"""A real worker on the test database, and a recording go-between in front of the stand-in model."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, urlsplit

from django.conf import settings
from django.db import connection

from bench.models import Run, Unit
from iba_site import services

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE_S = 150  # a deadline for broken code; a busy machine is far below it


def wait_for(what: str, condition: Callable[[], object], *, seconds: float = PATIENCE_S) -> None:
    """Polls until the condition holds; fails with ``what`` after the deadline."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)


def wait_until_over(run: Run) -> Run:
    def over() -> bool:
        run.refresh_from_db()
        return run.status in {"done", "cancelled"}

    with contextlib.suppress(AssertionError):
        wait_for("the run is over", over)
    states = Counter(Unit.objects.filter(run=run).values_list("status", flat=True))
    assert over(), f"run {run.pk} is {run.status}: {dict(states)}"
    return run


@dataclass(frozen=True)
class Exchange:
    """One request that reached the model, and the status that it got."""

    body: str
    status: int


@dataclass
class Ledger:
    """What the model was asked, seen from outside. ``hold`` stops requests before they reach it."""

    url: str = ""
    exchanges: list[Exchange] = field(default_factory=list)
    waiting: int = 0
    passing: set[object] = field(default_factory=set)  # requests on their way to the model and back
    _free: int | None = None  # requests that still pass; None: all
    _drop: int = 0  # grows with each dropping of what waits
    _change: threading.Condition = field(default_factory=threading.Condition)

    def hold(self, *, after: int) -> None:
        """Let ``after`` more requests pass, then keep the rest waiting."""
        with self._change:
            self._free = after
            self._change.notify_all()

    def release(self, *, drop: bool = False) -> None:
        """Let all pass; with ``drop`` those that wait now never reach the model."""
        with self._change:
            self._free = None
            self._drop += drop
            self._change.notify_all()

    def enter(self) -> object | None:
        """Lets a request pass and marks it as under way; None where it was dropped."""
        with self._change:
            drops = self._drop
            self.waiting += 1
            self._change.wait_for(lambda: self._free is None or self._free > 0 or self._drop > drops, PATIENCE_S)
            self.waiting -= 1
            if self._drop > drops:
                return None
            if self._free is not None:
                self._free -= 1
            mark = object()
            self.passing.add(mark)
            return mark

    def record(self, mark: object, body: str, status: int) -> None:
        with self._change:
            if mark in self.passing:  # else it is of an earlier test, whose worker may be dead
                self.passing.remove(mark)
                self.exchanges.append(Exchange(body, status))

    @property
    def bought(self) -> Counter[str]:
        """Answered requests: body -> how often it was answered."""
        return Counter(exchange.body for exchange in self.exchanges if exchange.status == 200)

    @property
    def bought_again(self) -> dict[str, int]:
        """Requests that were answered more than once."""
        return {body: times for body, times in self.bought.items() if times > 1}

    def begin(self) -> None:
        """Empty and open. What an earlier test left waiting or under way is no business of the next."""
        with self._change:
            self.exchanges.clear()
            self.passing.clear()
            self._free = None
            self._drop += 1
            self._change.notify_all()


def canonical(request: object) -> str:
    return json.dumps(request, sort_keys=True)


class _GoBetween(BaseHTTPRequestHandler):
    """Passes a request on to the server's ``upstream`` and enters it into the server's ``ledger``."""

    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16
    server: _Counter

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        ledger = self.server.ledger
        mark = ledger.enter()
        if mark is None:
            self.close_connection = True
            return
        status, answer = self.ask("POST", body)
        ledger.record(mark, canonical(json.loads(body)), status)
        self.answer(status, answer)

    def do_GET(self) -> None:
        self.answer(*self.ask("GET", b""))

    def ask(self, method: str, body: bytes) -> tuple[int, bytes]:
        upstream = http.client.HTTPConnection(*self.server.upstream, timeout=PATIENCE_S)
        try:
            upstream.request(method, self.path, body, {"Content-Type": "application/json"})
            response = upstream.getresponse()
            return response.status, response.read()
        finally:
            upstream.close()

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):  # whoever asked may be dead
            self.wfile.write(body)
            self.wfile.flush()

    def log_message(self, *_: object) -> None:
        pass

    def finish(self) -> None:
        with contextlib.suppress(OSError):
            super().finish()


class _Counter(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, ledger: Ledger, upstream: tuple[str | None, int | None]) -> None:
        super().__init__(("127.0.0.1", 0), _GoBetween)
        self.ledger, self.upstream = ledger, upstream

    def handle_error(self, *_: object) -> None:
        pass  # a killed worker's connection


@contextlib.contextmanager
def ledger_before(upstream: str) -> Iterator[Ledger]:
    """A go-between that passes everything on to ``upstream``, a base URL with /v1."""
    parts = urlsplit(upstream)
    ledger = Ledger()
    server = _Counter(ledger, (parts.hostname, parts.port))
    ledger.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield ledger
    finally:
        ledger.release(drop=True)
        server.shutdown()
        server.server_close()
        thread.join()


def database_url() -> str:
    """The test database, as another process can reach it."""
    values = connection.settings_dict
    return f"postgresql://{quote(values['USER'])}@/{values['NAME']}?host={quote(values['HOST'], safe='/')}"


class Worker:
    """A Celery worker in a process of its own."""

    def __init__(self, offline_url: str, *, lease_s: int = 4, threads: int = 8, **environment: str) -> None:
        environment = {
            **os.environ,
            "DATABASE_URL": database_url(),
            "REDIS_URL": settings.REDIS_URL,
            "SECRET_KEY": settings.SECRET_KEY,
            "EMBEDDINGS_URL": services.embeddings_url(),
            "OFFLINE_URL": offline_url,
            "QUEUE": settings.CELERY_TASK_DEFAULT_QUEUE,
            "LEASE_S": str(lease_s),
            "DB_POOL": "6",
            **environment,
        }
        self.log = services.manager.run_dir().parent / "log" / f"test-worker-{time.monotonic_ns()}.log"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "celery", "--skip-checks", "-A", "iba_site.celery", "worker"]
        command += [
            "--pool",
            "threads",
            "--concurrency",
            str(threads),
            "--loglevel",
            "WARNING",
            "--hostname",
            f"{self.log.stem}@test",
        ]
        command += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=output)

    def kill(self) -> None:
        """kill -9: nothing in the worker can react to it."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self) -> None:
        if self.process.poll() is None:
            self.kill()
