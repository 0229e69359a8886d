"""The site as it is served; started once, since each start imports every page."""

from __future__ import annotations

import pytest

from tests.site.real_site import behind_nginx, served

PUBLIC_NAME = "bench.example.org"


@pytest.fixture(scope="session")
def site(django_db_setup, django_db_blocker):
    """Plain, as ``make serve`` starts it."""
    with django_db_blocker.unblock(), served() as running:
        yield running


@pytest.fixture(scope="session")
def deployed(django_db_setup, django_db_blocker):
    """With the settings of docs/deployment.md."""
    settings = {"HTTPS": "1", "BEHIND_PROXY": "1", "ALLOWED_HOSTS": PUBLIC_NAME}
    with django_db_blocker.unblock(), served(**settings) as running:
        yield running


@pytest.fixture(scope="session")
def proxied(deployed, tmp_path_factory):
    """nginx in front of ``deployed``."""
    with behind_nginx(deployed, tmp_path_factory.mktemp("nginx")) as front_side:
        yield front_side
