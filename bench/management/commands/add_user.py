from __future__ import annotations

import getpass
import sys
from typing import Any

from django.contrib.auth.models import Group, User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser

from bench.access import Role
from bench.management.base import JsonCommand


class Command(JsonCommand):
    help = "Make a user with a role, or change the role. The password is asked for, or read from standard input."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--role", required=True, choices=[role.value for role in Role])

    def run(self, **options: Any) -> dict[str, Any]:
        user, created = User.objects.get_or_create(username=options["username"])
        if created:
            password = getpass.getpass() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
            try:
                validate_password(password, user)
            except ValidationError as error:
                user.delete()
                raise ValueError(" ".join(error.messages)) from error
            user.set_password(password)
            user.save()
        user.groups.set([Group.objects.get(name=options["role"])])
        return {"username": user.username, "role": options["role"], "created": created}
