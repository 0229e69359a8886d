"""Literal values that the stand-in copies from the request: dates, times, numbers, names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from agents.toolkit.dates import MONTHS, NUMBERS, WEEKDAYS, find_days, phrases
from bench.reader.reading import Prompt

_TIME = re.compile(r"\b(\d{1,2})(?::(\d{2}))?\s*(am|pm)\b|\b(\d{1,2}):(\d{2})\b", re.IGNORECASE)
_NUMBER_WORDS = "|".join(word for word in NUMBERS if word not in {"a", "an", "few"})
_NUMBER = re.compile(rf"\b(\d+(?:\.\d+)?|{_NUMBER_WORDS})\b", re.IGNORECASE)
_NAME = re.compile(r"\b([A-ZÀ-Þ][\w'-]+(?: [A-ZÀ-Þ][\w'-]+)*)")
_NOT_NAMES = {*WEEKDAYS, *MONTHS, "i", "i'm", "i'd", "i'll", "can", "could", "please", "need", "get", "taking"}


def day(prompt: Prompt, number: int = 0) -> str | None:
    """The ``number``-th day that the request names, ISO; None where it names none."""
    days = find_days(prompt.request, prompt.now)
    return days[min(number, len(days) - 1)].isoformat() if days else None


def clock(prompt: Prompt) -> str | None:
    """A time of day that the request names, ``HH:MM``."""
    match = _TIME.search(prompt.request)
    if match is None:
        return None
    hour, minute = int(match[1] or match[4]), int(match[2] or match[5] or 0)
    if match[3] and match[3].lower() == "pm" and hour < 12:
        hour += 12
    return f"{hour % 24:02d}:{minute:02d}"


def number(prompt: Prompt, position: int = 0) -> float | None:
    """The ``position``-th number of the request that is part of no date, duration or time."""
    spans = [*phrases(prompt.request), *(match.span() for match in _TIME.finditer(prompt.request))]
    found = [
        match for match in _NUMBER.finditer(prompt.request)
        if not any(start < match.end() and match.start() < end for start, end in spans)
    ]  # fmt: skip
    if not found:
        return None
    text = found[min(position, len(found) - 1)][1].lower()
    return float(NUMBERS.get(text, 0) or text)


def known_value(values: Sequence[Any], prompt: Prompt) -> Any | None:
    """The longest of the known values that stands in the request."""
    request = prompt.request.lower()
    inside = [value for value in values if str(value) and str(value).lower() in request]
    return max(inside, key=lambda value: (len(str(value)), str(value)), default=None)


def name(prompt: Prompt) -> str | None:
    """A proper name inside a sentence of the request; the first word of a sentence is no sure one."""
    inside = [match for match in _NAME.finditer(prompt.request) if match[1].split()[0].lower() not in _NOT_NAMES]
    later = [match for match in inside if match.start() and prompt.request[match.start() - 2] not in ".!?"]
    return later[0][1] if later else None
