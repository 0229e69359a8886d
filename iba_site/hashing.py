"""Passwords hashed one at a time, behind all other work: fifty sign-ins at once must not stop who is grading."""

from __future__ import annotations

import contextlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from django.contrib.auth.hashers import PBKDF2PasswordHasher

from bench.database import release_connection

WAITING = 32  # passwords that wait for their turn in one process; fewer than its threads, so that some stay free
NICE = 5

_places = threading.BoundedSemaphore(WAITING)


class Busy(Exception):
    """So many sign in at this moment that this one is not tried."""

    def __init__(self) -> None:
        super().__init__("Many people sign in at this moment. Try again in a few seconds.")


class PatientHasher(PBKDF2PasswordHasher):
    """Django's own, in a thread for itself. What was hashed before stays valid."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        """Raises Busy."""
        if not _places.acquire(blocking=False):
            raise Busy
        try:
            release_connection()  # others can use it meanwhile
            hashed: str = _pool().submit(super().encode, password, salt, iterations).result()
            return hashed
        finally:
            _places.release()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="hash", initializer=_stand_back)


def _stand_back() -> None:
    """This thread gets what the others leave of the processor. Where only processes have a priority, it does not."""
    if hasattr(threading, "get_native_id") and os.uname().sysname == "Linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
