"""A real Chromium against the real site. Any error in the browser's console fails the test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, Page, expect

from tests.annotation.factories import make_cast

CAST = {
    "admin": "ada",
    "adjudicator": "otto",
    "annotator": "ann",
    "second annotator": "ben",
    "viewer": "vera",
    "outsider": "olga",
}
FLAGS = (
    "--no-sandbox --disable-gpu --disable-dev-shm-usage --disable-background-networking "
    "--disable-component-update --no-first-run"
)
NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE_MS = 60_000  # a busy machine needs seconds for the first page
WIDE = {"width": 1280, "height": 800}

PageAs = Callable[..., Page]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = os.path.dirname(__file__)
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """CHROMIUM, else one on the PATH, else Playwright's own."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    own = {"executable_path": found} if found else {}
    return {**browser_type_launch_args, **own, "args": FLAGS.split()}


@pytest.fixture
def cast(transactional_db: None) -> dict[str, Any]:
    return make_cast()


@pytest.fixture
def page_as(browser: Browser, live_server: Any, cast: dict[str, Any]) -> Iterator[PageAs]:
    """``page_as("annotator")``: a page of a browser of their own, signed in by cookie; ``page_as(None)``: signed out.

    ``expected`` are parts of console messages that the test provokes, such as "422".
    """
    expect.set_options(timeout=PATIENCE_MS)
    contexts, problems = [], []

    def listen(page: Page, expected: tuple[str, ...]) -> None:
        def note(text: str) -> None:
            if not any(part in text for part in expected):
                problems.append(text)

        page.on("pageerror", lambda error: note(f"page error: {error}"))
        page.on("console", lambda message: note(message.text) if message.type == "error" else None)

    def open_page(
        role: str | None, *, viewport: dict[str, int] = WIDE, expected: tuple[str, ...] = (), **options: Any
    ) -> Page:
        context = browser.new_context(base_url=live_server.url, viewport=viewport, **options)
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        if role is not None:
            client = Client()
            client.force_login(cast[CAST[role]])
            name = settings.SESSION_COOKIE_NAME
            context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": live_server.url}])
        page = context.new_page()
        listen(page, expected)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []
