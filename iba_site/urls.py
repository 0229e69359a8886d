from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, include, path

from iba_site import views
from iba_site.api import api

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("bench.dashboards.urls")),
    path("", include("annotation.urls")),
    path("login/", views.login, name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("api/", api.urls),
    path("healthz", views.healthz, name="healthz"),
]
