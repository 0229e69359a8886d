"""One way to name a text by its content."""

from __future__ import annotations

import hashlib


def text_sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
