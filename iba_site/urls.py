from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, include, path, register_converter

from bench.asked import IdConverter
from iba_site import views
from iba_site.api import api

register_converter(IdConverter, "id")  # before the pages below that use it


def _token_only(
    patterns: tuple[list[URLResolver | URLPattern], str, str],
) -> tuple[list[URLResolver | URLPattern], str, str]:
    """The API asks for its token itself; the sign-in of the pages must not step in."""
    for pattern in patterns[0]:
        if isinstance(pattern, URLPattern) and pattern.callback is not None:
            login_not_required(pattern.callback)
    return patterns


urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("bench.pages.urls")),
    path("", include("annotation.urls")),
    path("login/", views.login, name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("api/", _token_only(api.urls)),
    path("healthz", views.healthz, name="healthz"),
]
