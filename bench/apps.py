from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class BenchConfig(AppConfig):
    name = "bench"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        post_migrate.connect(_make_roles, sender=self)


def _make_roles(using: str, **_: Any) -> None:
    """The roles exist as groups after every migrate and every flush, as Django's own permissions do."""
    from django.contrib.auth.models import Group

    from bench.access import Role

    for role in Role:
        Group.objects.using(using).get_or_create(name=role.value)
