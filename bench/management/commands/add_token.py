from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandParser

from bench.management.base import JsonCommand
from bench.tokens import make_token


class Command(JsonCommand):
    help = "Make an API token for a user. It is printed once."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--name", default="api")

    def run(self, **options: Any) -> dict[str, Any]:
        user = User.objects.filter(username=options["username"]).first()
        if user is None:
            raise ValueError(f"unknown user {options['username']!r}")
        token = make_token(user=user, name=options["name"])
        self.say(token)
        return {"username": user.username, "token": token}
