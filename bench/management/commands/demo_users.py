from __future__ import annotations

import secrets
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, User

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
        passwords = dict(line.split() for line in path.read_text().splitlines()) if path.exists() else {}
        for name, role in USERS.items():
            user, created = User.objects.get_or_create(username=name)
            if created or name not in passwords:
                passwords[name] = secrets.token_urlsafe(9)
                user.set_password(passwords[name])
                user.save()
            user.groups.set([Group.objects.get(name=role)])
        write_file(path, "".join(f"{name} {passwords[name]}\n" for name in USERS), mode=0o600)
        self.say("demo logins (also in demo_logins under IBA_HOME):")
        for name in USERS:
            self.say(f"  {name:12} {passwords[name]}")
        return {"users": list(USERS)}
