from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandParser

from bench.management.base import JsonCommand
from bench.tokens import USUAL, Scope, make_token


class Command(JsonCommand):
    help = "Make an API token for a user. It is printed once."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--name", default="api")
        parser.add_argument(
            "--scope",
            action="append",
            choices=[scope.value for scope in Scope],
            help="what the token may be used for, several times for several; an agent needs agent alone. "
            f"Unless named: {', '.join(USUAL)}. gold: checkpoints and verdicts in trajectories",
        )

    def run(self, **options: Any) -> dict[str, Any]:
        user = User.objects.filter(username=options["username"]).first()
        if user is None:
            raise ValueError(f"unknown user {options['username']!r}; make it with `manage.py add_user`")
        scopes = sorted(Scope(name) for name in options["scope"] or USUAL)
        token = make_token(user=user, name=options["name"], scopes=scopes)
        self.say(token)
        return {"username": user.username, "token": token, "scopes": scopes}
