"""Who may do what. Roles are groups; one helper a right, for pages and API alike."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from typing import Concatenate, ParamSpec, TypeAlias, TypeVar

from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase

Visitor: TypeAlias = User | AnonymousUser
P = ParamSpec("P")
R = TypeVar("R", bound=HttpResponseBase)
View: TypeAlias = Callable[Concatenate[HttpRequest, P], R]


class Role(StrEnum):
    ADMIN = "admin"
    ADJUDICATOR = "adjudicator"
    ANNOTATOR = "annotator"
    VIEWER = "viewer"


def role_of(user: Visitor) -> Role | None:
    """The strongest role of a signed-in user; None for a user in no group.

    Remembered on the user object, which lives as long as the request, so that many checks take one query.
    """
    if not user.is_authenticated:
        return None
    known = vars(user)
    if "_iba_role" not in known:
        known["_iba_role"] = _read_role(user)
    role: Role | None = known["_iba_role"]
    return role


def _read_role(user: Visitor) -> Role | None:
    if user.is_superuser:
        return Role.ADMIN
    names = {group.name for group in user.groups.all()}
    return next((role for role in Role if role.value in names), None)


def may_launch(user: Visitor) -> bool:
    return role_of(user) is Role.ADMIN


def may_adjudicate(user: Visitor) -> bool:
    return role_of(user) in {Role.ADMIN, Role.ADJUDICATOR}


def may_annotate(user: Visitor) -> bool:
    return role_of(user) in {Role.ADMIN, Role.ADJUDICATOR, Role.ANNOTATOR}


def may_see_results(user: Visitor) -> bool:
    """Raters stay blind: method, model and verdicts are not for annotators."""
    return role_of(user) in {Role.ADMIN, Role.ADJUDICATOR, Role.VIEWER}


def require(right: Callable[[Visitor], bool]) -> Callable[[View[P, R]], View[P, R]]:
    """Decorator for views: 403 with a sentence where the right is missing."""

    def decorate(view: View[P, R]) -> View[P, R]:
        @wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> R:
            if not right(request.user):
                raise PermissionDenied(f"Your role, {role_of(request.user) or 'none'}, does not allow this page.")
            return view(request, *args, **kwargs)

        return guarded

    return decorate
