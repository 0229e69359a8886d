"""One's own API tokens: seen, made and revoked."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers

from bench.models import ApiToken
from bench.pages.forms import TokenForm
from bench.tokens import Scope, make_token, revoke_token


@dataclass(frozen=True, slots=True)
class Made:
    """A new token with its text, which is shown this once."""

    name: str
    text: str


@require_http_methods(["GET", "POST"])
@vary_on_headers("HX-Request")
def account(request: HttpRequest) -> HttpResponse:
    form = TokenForm(request.POST or None)
    made = None
    if request.method == "POST" and form.is_valid():
        name, scopes = form.cleaned_data["name"], form.cleaned_data["scopes"]
        made = Made(name, make_token(user=_user(request), name=name, scopes=map(Scope, scopes)))
        form = TokenForm()
    return _show(request, form, made=made, status=422 if form.errors else 200)


@require_POST
def account_revoke(request: HttpRequest, pk: int) -> HttpResponse:
    """Only of who is signed in; another's token is not there. One that was revoked meanwhile stays so."""
    token = get_object_or_404(ApiToken, pk=pk, user=_user(request))
    if token.revoked_at is None:
        revoke_token(token.pk)
    return _show(request, TokenForm(), revoked=token.name)


def _show(
    request: HttpRequest, form: TokenForm, *, made: Made | None = None, revoked: str = "", status: int = 200
) -> HttpResponse:
    fragment = "#account-tokens" if request.htmx else ""  # type: ignore[attr-defined]
    tokens = ApiToken.objects.filter(user=_user(request), revoked_at__isnull=True).order_by("-pk")
    context = {"tokens": list(tokens), "form": form, "made": made, "revoked": revoked}
    return render(request, f"pages/account.html{fragment}", context, status=status)


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # noqa: S101 (the sign-in stands before every page)
    return request.user
