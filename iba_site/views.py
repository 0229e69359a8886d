"""Sign-in and the health check. Everything else belongs to a room of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from datetime import datetime

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.db import DatabaseError, InterfaceError, connection
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from redis.exceptions import RedisError

from bench.database import first_line
from bench.redis_server import redis_client
from bench.runs.outages import waiting_now
from bench.runs.worker import workers_alive
from bench.services import services
from iba_site import brake
from iba_site.hashing import Busy

_sign_in = LoginView.as_view(redirect_authenticated_user=True)
_sign_in_page = LoginView.as_view()


@login_not_required
def login(request: HttpRequest) -> HttpResponseBase:
    # A save that was sent here while signed out must not be led back, as a GET, to an address that takes POST only.
    show = _sign_in_page if request.headers.get("HX-Request") else _sign_in
    try:
        return show(request)
    except Busy as error:
        return _not_now(request, str(error), status=503)


def locked_out(request: HttpRequest, response: HttpResponse, credentials: Mapping[str, str] | None) -> HttpResponse:
    """After too many wrong passwords for one name from one address."""
    left_s = brake.seconds_left(request, (credentials or {}).get("username", ""))
    text = (
        f"Too many wrong passwords for this name from your address. Try again in {brake.in_words(left_s)}. "
        "Others, and this name from elsewhere, are not held up."
    )
    api = request.path.startswith("/api/")
    shut = JsonResponse({"error": text}, status=429) if api else _not_now(request, text, status=429)
    shut["Retry-After"] = str(left_s)
    return shut


def _not_now(request: HttpRequest, problem: str, *, status: int) -> HttpResponse:
    """The sign-in page with a sentence and what was typed, save the password."""
    form = AuthenticationForm(request, initial={"username": request.POST.get("username", "")[:150]})
    context = {"form": form, "next": request.POST.get("next", ""), "problem": problem}
    return render(request, "registration/login.html", context, status=status)


LEAST_FREE_MB = 100
_failing_since: dict[str, datetime] = {}  # what this process found to be away, from its first look that failed


@login_not_required
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """200 where database, queue and a worker answer, the disk has room and no service of ours is waited for.

    Else 503 with what is wrong, and since when. No sign-in. Models' endpoints are not ours: they are named, no more.
    """
    checks = {"database": _database, "queue": _queue, "worker": _worker, "disk": _disk}
    found = {name: _answer(name, check) for name, check in checks.items()}
    endpoints: dict[str, str] = {}
    if found["database"] == "ok":
        for one in waiting_now():
            name = {"Redis": "queue", "PostgreSQL": "database"}.get(one.away, one.away)
            (endpoints if one.is_endpoint else found)[name] = f"does not answer {_since(one.since)}: {one.reason}"
    well = all(answer == "ok" for answer in found.values())
    if found["disk"] == "ok":
        del found["disk"]
    return JsonResponse({"status": "ok" if well else "unwell", **found, **endpoints}, status=200 if well else 503)


def _answer(name: str, check: Callable[[], str]) -> str:
    """What the check found; a service that does not answer is a finding and no crash."""
    try:
        answer = check()
    except (DatabaseError, InterfaceError, RedisError) as error:
        since = _failing_since.setdefault(name, timezone.now())
        return f"does not answer {_since(since)}: {first_line(error)}"
    _failing_since.pop(name, None)
    return answer


def _since(moment: datetime) -> str:
    return f"since {moment:%H:%M} UTC"


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return "ok"


def _queue() -> str:
    redis_client().ping()
    return "ok"


def _worker() -> str:
    return "ok" if workers_alive() else "no worker runs; start one with `make worker`"


def _disk() -> str:
    """Room for the embedded database; of a database elsewhere only its own words tell."""
    if not services().is_embedded():
        return "ok"
    free_mb = shutil.disk_usage(settings.IBA_HOME).free // 2**20
    if free_mb >= LEAST_FREE_MB:
        return "ok"
    return f"only {free_mb} MB are free at {settings.IBA_HOME}; free {LEAST_FREE_MB} MB or more, runs wait meanwhile"
