"""API tokens: made once, shown once, stored as a hash. What one may do is its scopes, within its user's role."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from enum import StrEnum

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.utils import timezone
from ninja.security import HttpBearer

from bench.models import ApiToken
from bench.runs.fence import read_gold


class Scope(StrEnum):
    """What a token may be used for."""

    AGENT = "agent"
    READ = "read"
    LAUNCH = "launch"
    GOLD = "gold"


SCOPE_WORDS = {
    Scope.AGENT.value: "open external runs, work on their tasks, read their results once they have ended",
    Scope.READ.value: "runs, results and trajectories, without checkpoints",
    Scope.LAUNCH.value: "start, pause, resume, cancel and retry runs",
    Scope.GOLD.value: "checkpoints, their evidence and verdicts; agents of yours are bound by what it reads",
}
USUAL = (Scope.READ, Scope.LAUNCH, Scope.AGENT)


def make_token(*, user: User, name: str, scopes: Iterable[Scope] = USUAL) -> str:
    """A new token of the user. The text is returned here and nowhere again."""
    token = f"iba_{secrets.token_urlsafe(32)}"
    ApiToken.objects.create(user=user, name=name[:60], token_sha256=_hash(token), scopes=sorted(set(scopes)))
    return token


def revoke_token(pk: int) -> ApiToken:
    """From now on it opens nothing. Raises LookupError for an unknown or an already revoked one."""
    changed = ApiToken.objects.filter(pk=pk, revoked_at__isnull=True).update(revoked_at=timezone.now())
    if not changed:
        raise LookupError(f"no token {pk} is in use; `manage.py revoke_token` without a number lists those that are")
    return ApiToken.objects.select_related("user").get(pk=pk)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


class BearerToken(HttpBearer):
    """``Authorization: Bearer iba_...``; the request's user is then the token's, and ``request.auth`` the token."""

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


def token_of(request: HttpRequest) -> ApiToken:
    """The token that the request came with; the API lets none in without."""
    token: ApiToken = request.auth  # type: ignore[attr-defined]
    return token


def require_scope(request: HttpRequest, scope: Scope) -> None:
    token = token_of(request)
    if scope not in token.scopes:
        raise PermissionDenied(
            f"this token has no scope {scope.value!r} (it has: {', '.join(token.scopes) or 'none'}); make another with "
            f"`manage.py add_token {token.user} --scope {scope.value}`"
        )


def why_no_gold(request: HttpRequest, dataset_id: int) -> str:
    """Why this token may not see the gold of a dataset; "" where it may, and it is then on record that it did."""
    token = token_of(request)
    if Scope.GOLD not in token.scopes:
        return f"gold needs a token of scope {Scope.GOLD.value!r}"
    working = read_gold(token.user_id, dataset_id)
    if working is None:
        return ""
    return f"external run {working} on this dataset, in which you take part, is still open; gold is shown once it ends"
