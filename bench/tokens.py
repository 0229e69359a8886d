"""API tokens: made once, shown once, stored as a hash."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja.security import HttpBearer

from bench.models import ApiToken


def make_token(*, user: Any, name: str) -> str:
    """A new token of the user. The text is returned here and nowhere again."""
    token = f"iba_{secrets.token_urlsafe(32)}"
    ApiToken.objects.create(user=user, name=name[:60], token_sha256=_hash(token))
    return token


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class BearerToken(HttpBearer):
    """``Authorization: Bearer iba_...``; the request's user is then the token's."""

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken | None:
        found = (
            ApiToken.objects.select_related("user")
            .filter(token_sha256=_hash(token), revoked_at__isnull=True, user__is_active=True)
            .first()
        )
        if found is None:
            return None
        ApiToken.objects.filter(pk=found.pk).update(last_used_at=timezone.now())
        request.user = found.user
        return found
