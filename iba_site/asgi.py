"""The site as the web server runs it: the door in the event loop, the pages in a bounded number of threads."""

from __future__ import annotations

import multiprocessing
import os
import threading

from a2wsgi import WSGIMiddleware
from django.conf import settings
from django.urls import get_resolver

from iba_site import env
from iba_site.front import Front
from iba_site.wsgi import application as pages

THREADS = 48  # of a process; most wait: for PostgreSQL, or for a password to be hashed


def make() -> Front:
    """Called once in each process of the web server."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # An answer is handed over whole (queue without a bound), so that a slow reader holds no thread.
    return Front(
        WSGIMiddleware(pages, workers=THREADS, send_queue_size=0),  # type: ignore[arg-type]
        patience_s=env.patience_s(),
        behind_proxy=settings.BEHIND_PROXY,
        session_cookie=settings.SESSION_COOKIE_NAME,
    )


def load() -> None:
    """Import every page now: once, before the processes part, and not in the first request of each."""
    _ = get_resolver().url_patterns


def _end_with_parent() -> None:
    """A killed web server must not leave processes behind that hold its port."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
