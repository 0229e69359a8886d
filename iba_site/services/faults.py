"""What to do about a service that does not start: advice that fits what went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from iba_site.services.process import ServiceError

_ADVICE = (
    (
        ("No space left on device", "Disk quota exceeded"),
        "The disk is full: free some of it, or set IBA_HOME to a folder on another disk.",
    ),
    (
        ("Read-only file system", "Permission denied", "Operation not permitted"),
        "This user cannot write there: set IBA_HOME to a folder where it can.",
    ),
    (
        ("Cannot allocate memory", "could not create shared memory", "could not map anonymous shared memory"),
        "Memory is short: end other programs, or name a server of your own in DATABASE_URL.",
    ),
)


def advice(text: str) -> str:
    """A sentence for what the text says is wrong, "" where it is nothing known."""
    return next((words for signs, words in _ADVICE if any(sign in text for sign in signs)), "")


@contextmanager
def explained(service: str, place: Path) -> Iterator[None]:
    """Errors of the system and of the service leave as a ServiceError with the place and what to do about it."""
    try:
        yield
    except OSError as error:
        said = str(error)
        what_to_do = advice(said)
        if isinstance(error, ServiceError) and (not what_to_do or what_to_do in said):
            raise
        rest = what_to_do or "Its log is in the folder log beside it; or name a server of your own."
        raise ServiceError(f"{service} did not start in {place}: {said.rstrip('.')}. {rest}") from error
