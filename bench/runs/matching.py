"""How a look-up compares what is asked for with what an item has: without case, article and plural."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from bench.grading.normalise import Ambiguous, Unreadable, normalise, normalise_text

SHOWN = 20
_ARTICLES = frozenset({"a", "an", "the"})


def matches(stored: object, asked: object, form: str, as_of: datetime) -> bool:
    """``form``: date or time where the argument has that format, else ""."""
    if stored is None:
        return False
    try:
        if form:
            return normalise(stored, form, as_of=as_of) == normalise(asked, form, as_of=as_of)
        have, want = _words(stored), _words(asked)
        return len(have) == len(want) and all(map(_same_word, have, want))
    except (Unreadable, Ambiguous):
        return False


def named(values: Iterable[object]) -> str:
    """The different values in order, at most SHOWN of them."""
    found = sorted({str(value) for value in values if value not in (None, "")})
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return f"{', '.join(found[:SHOWN])}{more}"


def _words(value: object) -> list[str]:
    words = normalise_text(value).split()
    return [word for word in words if word not in _ARTICLES] or words


def _same_word(one: str, other: str) -> bool:
    """Alike, or one the plural of the other."""
    short, long = sorted((one, other), key=len)
    plurals = {short, f"{short}s", f"{short}es", *([f"{short[:-1]}ies"] if short.endswith("y") else [])}
    return long in plurals
