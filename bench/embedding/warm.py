"""Vectors that travel with the project, so that a first start need not spend minutes on texts it always has.

A file of vectors is a cache and nothing else: keyed by the hash of kind and text, made by the same model
(`make vectors`), and checked against it in the tests. A text that is not in it is embedded.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]


def digest(kind: str, text: str) -> bytes:
    return hashlib.sha256(f"{kind}\0{text}".encode("utf-8", "replace")).digest()


class WarmVectors:
    """Read-only look-up by kind and text. ``used`` remembers what was asked for, for the next file."""

    def __init__(self, path: Path | None, model: str) -> None:
        """Raises ValueError where the file was made by another model."""
        self._rows: dict[bytes, int] = {}
        self._vectors = np.empty((0, 0), dtype=np.float16)
        self.used: set[bytes] = set()
        if path is None:
            return
        with np.load(path) as stored:
            if str(stored["model"]) != model:
                raise ValueError(
                    f"{path} holds vectors of {stored['model']}, this server runs {model}; remove the file"
                )
            self._vectors = stored["vectors"]
            self._rows = {bytes(key): row for row, key in enumerate(stored["keys"])}

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, kind: str, text: str) -> Vector | None:
        key = digest(kind, text)
        row = self._rows.get(key)
        if row is None:
            return None
        self.used.add(key)
        vector = self._vectors[row].astype(np.float32)
        unit: Vector = vector / np.linalg.norm(vector)
        return unit

    def dump(self, model: str, fresh: Iterable[tuple[str, str, Vector]]) -> bytes:
        """A new file: what of this one was used, and the fresh (kind, text, vector)."""
        found = {key: self._vectors[self._rows[key]] for key in self.used}
        found |= {digest(kind, text): vector.astype(np.float16) for kind, text, vector in fresh}
        keys = sorted(found)
        output = io.BytesIO()
        np.savez(
            output,
            model=np.array(model),
            keys=np.array([np.frombuffer(key, dtype=np.uint8) for key in keys]),
            vectors=np.array([found[key] for key in keys], dtype=np.float16),
        )
        return output.getvalue()
