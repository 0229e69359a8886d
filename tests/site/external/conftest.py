from __future__ import annotations

import httpx
import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from iba_site import services
from tests.bench.conftest import tiny_of
from tests.site.external.support import bearer


@pytest.fixture
def client(live_server, catalogue):
    services.ensure("embeddings", "offline")
    tiny_of(catalogue)
    user = User.objects.create_user("admin")
    user.groups.set([Group.objects.get(name="admin")])
    with httpx.Client(base_url=live_server.url, headers=bearer(), timeout=60) as found:
        yield found


@pytest.fixture
def client_of():
    """A browser's session of a user."""

    def signed_in(user: User) -> Client:
        browser = Client()
        browser.force_login(user)
        return browser

    return signed_in
