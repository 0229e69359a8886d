"""Texts by their content, and what no text or moment of ours may be."""

from __future__ import annotations

import hashlib

FIRST_YEAR, LAST_YEAR = 1900, 2199  # of an event; the calendar's ends break when they are moved to another zone


def text_sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def unstorable(text: str) -> str:
    """What in it the database refuses, in words; "" where nothing."""
    if "\x00" in text:
        return "a zero character (NUL)"
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "half of a surrogate pair"
    return ""
