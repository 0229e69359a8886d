"""A site of its own to measure on, as `make serve` runs it, on a database that is made for it and dropped after."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import TypeAlias
from urllib.parse import quote

import psutil
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.db import connection
from django.test import Client

from bench.catalogue import load_catalogue
from bench.catalogue.store import store_catalogue
from bench.models import Run, Trajectory
from bench.perf.scale import large_run

Port: TypeAlias = int

DATABASE = "perf_raters"
PASSWORD = "many words make a password"  # noqa: S105 (of a database that is dropped after)
PERSONAS = 12  # 1,200 trajectories of 6 checkpoints
RATERS_EACH = 3
STARTS_IN_S = 60


@contextlib.contextmanager
def graded_site(raters: int) -> Iterator[Port]:
    """Serves ``rater0`` to ``rater<n-1>`` a batch of trajectories; yields the port of 127.0.0.1."""
    with _own_database():
        _fill(raters)
        with _served() as port:
            yield port


@contextlib.contextmanager
def _own_database() -> Iterator[None]:
    """Every query of this process goes there meanwhile."""
    kept = connection.settings_dict["NAME"]
    _execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)", f"CREATE DATABASE {DATABASE}")
    _move(DATABASE)
    try:
        call_command("migrate", verbosity=0, interactive=False)
        yield
    finally:
        _move(kept)
        _execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")


def _move(name: str) -> None:
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]
    connection.settings_dict["NAME"] = name


def _execute(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def _fill(raters: int) -> None:
    store_catalogue(load_catalogue())
    run = large_run(personas=PERSONAS)
    Trajectory.objects.update(audit=True)
    annotator = Group.objects.get(name="annotator")
    hashed = make_password(PASSWORD)
    made = User.objects.bulk_create(User(username=f"rater{n}", password=hashed) for n in range(raters))
    annotator.user_set.add(*made)
    _make_batch(run)


def _make_batch(run: Run) -> None:
    """By the page, as an administrator does."""
    admin = User.objects.create_user("perf-admin")
    admin.groups.set([Group.objects.get(name="admin")])
    client = Client(headers={"host": "localhost"})
    client.force_login(admin)
    wish = {"run": run.pk, "choice": "audit", "raters_wanted": RATERS_EACH, "size": 5000}
    answer = client.post("/annotate/batches/new/", wish)
    if answer.status_code != 302:
        raise ValueError(f"the batch was refused with {answer.status_code}: {answer.content.decode()[:500]}")


@contextlib.contextmanager
def _served() -> Iterator[Port]:
    """The web server with the settings that it has by itself."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: Port = free.getsockname()[1]
    given = {**os.environ, "DATABASE_URL": _address(), "REDIS_URL": settings.REDIS_URL}
    given["SECRET_KEY"] = settings.SECRET_KEY
    command = [sys.executable, "-m", "iba_site.web", "--port", str(port)]
    quiet = subprocess.DEVNULL  # it tells of each connection that a rater gives up in the end
    running = subprocess.Popen(command, cwd=settings.BASE_DIR, env=given, stdout=quiet, stderr=quiet)  # noqa: S603
    try:
        _wait(running, port)
        yield port
    finally:
        family = psutil.Process(running.pid).children(recursive=True) if running.poll() is None else []
        running.terminate()
        running.wait(timeout=30)
        psutil.wait_procs(family, timeout=10)


def _address() -> str:
    values = connection.settings_dict
    user, password = quote(values["USER"], safe=""), quote(values["PASSWORD"], safe="")
    who = f"{user}:{password}" if password else user
    port = f"&port={values['PORT']}" if values["PORT"] else ""
    if values["HOST"].startswith("/"):
        return f"postgresql://{who}@/{values['NAME']}?host={quote(values['HOST'], safe='/')}{port}"
    return f"postgresql://{who}@{values['HOST']}:{values['PORT'] or 5432}/{values['NAME']}"


def _wait(running: subprocess.Popen[bytes], port: Port) -> None:
    deadline = time.monotonic() + STARTS_IN_S
    while time.monotonic() < deadline and running.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise ValueError(f"the site did not start within {STARTS_IN_S} s; its exit code is {running.poll()}")
