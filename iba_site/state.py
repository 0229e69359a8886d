"""Small files of a home that decide how it goes on: written whole or not at all, and looked at before they count."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.files import write_file

SECRET = 0o600


def read(path: Path, fits: Callable[[str], bool]) -> str | None:
    """The file's text without the white space around it; None where there is none or it does not fit."""
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    return text if fits(text) else None


def keep(path: Path, make: Callable[[], str], fits: Callable[[str], bool]) -> str:
    """The text that was kept there, or from now on a new one. Of several processes that make one, the first counts."""
    kept = read(path, fits)
    if kept is not None:
        return kept
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone_in(path.parent):
        kept = read(path, fits)
        if kept is None:
            kept = make()
            write_file(path, kept, mode=SECRET)
    return kept


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """A lock on the folder itself, which leaves no file and ends with its holder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
