"""Sign-in and the health check. Everything else belongs to a room of its own."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from redis.exceptions import RedisError

from bench.runs.calls import redis_client
from bench.runs.worker import workers_alive

login = LoginView.as_view(redirect_authenticated_user=True)


@login_not_required
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """200 where database, queue and a worker answer, else 503 with what is wrong. No sign-in."""
    checks = {"database": _database, "queue": _queue, "worker": _worker}
    found = {name: _answer(check) for name, check in checks.items()}
    well = all(answer == "ok" for answer in found.values())
    return JsonResponse({"status": "ok" if well else "unwell", **found}, status=200 if well else 503)


def _answer(check: Callable[[], str]) -> str:
    """What the check found; a service that does not answer is a finding and no crash."""
    try:
        return check()
    except (DatabaseError, RedisError) as error:
        first_line = str(error).strip().split("\n")[0]
        return f"does not answer: {first_line}"


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return "ok"


def _queue() -> str:
    redis_client().ping()
    return "ok"


def _worker() -> str:
    return "ok" if workers_alive() else "no worker runs; start one with `make worker`"
