from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from bench.management.base import JsonCommand
from bench.models import ApiToken
from bench.tokens import revoke_token


class Command(JsonCommand):
    help = "Revoke API tokens by their numbers; without a number, list the tokens in use."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tokens", nargs="*", type=int, metavar="NUMBER")
        parser.add_argument("--user", help="all tokens of this user")

    def run(self, **options: Any) -> dict[str, Any]:
        in_use = ApiToken.objects.filter(revoked_at__isnull=True).select_related("user").order_by("pk")
        mine = in_use.filter(user__username=options["user"]) if options["user"] else in_use.none()
        if options["user"] and not mine:
            raise ValueError(f"user {options['user']!r} has no token in use")
        asked = [*options["tokens"], *[token.pk for token in mine]]
        revoked = [revoke_token(pk) for pk in dict.fromkeys(asked)]
        for token in revoked or in_use:
            last = f"last used {token.last_used_at:%Y-%m-%d %H:%M}" if token.last_used_at else "never used"
            self.say(f"{token.pk:6} {token}, {last}{', revoked' if revoked else ''}")
        return {
            "revoked": [token.pk for token in revoked],
            "in_use": [{"id": t.pk, "user": t.user.get_username(), "name": t.name} for t in in_use.all()],
        }
