from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import connection, transaction

from bench.files import write_file
from bench.management.base import JsonCommand

USERS = {
    "admin": "admin",
    "adjudicator": "adjudicator",
    "annotator1": "annotator",
    "annotator2": "annotator",
    "annotator3": "annotator",
    "viewer": "viewer",
}


class Command(JsonCommand):
    help = "Make the demo logins with passwords of their own, and print them."

    def run(self, **options: Any) -> dict[str, Any]:
        path = settings.IBA_HOME / "demo_logins"
        with _one_at_a_time():
            kept = _kept(path)
            with transaction.atomic():
                shown = {name: _login(name, role, kept.get(name, "")) for name, role in USERS.items()}
            write_file(path, "".join(f"{name} {word}\n" for name, word in shown.items() if word), mode=0o600)
        self.say("demo logins (also in demo_logins under IBA_HOME):")
        for name, word in shown.items():
            self.say(f"  {name:12} {word or '(the password was changed since)'}")
        return {"users": list(USERS)}


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Of two at once the second prints what the first has made."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(7412)")
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(7412)")


def _kept(path: Path) -> dict[str, str]:
    """Logins that were printed before, without lines that are none."""
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    return {words[0]: words[1] for line in lines if len(words := line.split()) == 2 and words[0] in USERS}


def _login(name: str, role: str, kept: str) -> str:
    """A password that opens the account; "" where its owner has set another."""
    user, created = User.objects.get_or_create(username=name)
    password = kept
    if created or not kept:
        password = secrets.token_urlsafe(9)
        user.set_password(password)
        user.save()
    elif not user.check_password(kept):
        password = ""
    user.groups.set([Group.objects.get(name=role)])
    return password
