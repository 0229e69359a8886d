"""The one way in which we write files: beside the old one, then in its place. A failed write leaves the old file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_file(path: Path, content: str | bytes, *, mode: int | None = None) -> None:
    """Text is written as UTF-8. ``mode``: permissions of the new file; those of the old one, or the usual, if None."""
    with replacing(path, mode=mode) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def replacing(path: Path, *, mode: int | None = None) -> Iterator[BinaryIO]:
    """A file to write into; it takes the place of ``path`` once the block has ended well and its bytes are on disk.

    What is no plain file, such as /dev/stdout, is written to as it is.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as special:
            yield special
        return
    target = path.resolve()  # a link goes on pointing at the file
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:60]}.", suffix=".part")
    beside = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.chmod(_mode(target) if mode is None else mode)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _mode(path: Path) -> int:
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
