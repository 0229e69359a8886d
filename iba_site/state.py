"""Small files of a home that decide how it goes on: written whole or not at all, and looked at before they count."""

from __future__ import annotations

import os
from collections.abc import Callable
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
    mine = path.with_name(f"{path.name}.{os.getpid()}")
    write_file(mine, make(), mode=SECRET)
    try:
        if path.exists():
            mine.replace(path)  # what stood there does not fit
        else:
            os.link(mine, path)
    except FileExistsError:
        pass  # another was first
    finally:
        mine.unlink(missing_ok=True)
    return keep(path, make, fits)
