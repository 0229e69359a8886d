"""The scope gate: does a constraint's scope hold for this request?"""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache

from agents.toolkit.dates import find_days

_CUES = {
    "with_children": r"kids?|child(?:ren)?|sons?|daughters?|toddlers?|school run|family|little ones?|boys|girls"
    r"|twins|baby",
    "with_colleagues": r"colleagues?|co-?workers?|team(?:mates?)?|clients?|office|boss|work (?:trip|dinner|lunch|do)"
    r"|people from work|department",
    "at_weekend": r"week-?ends?|saturdays?|sundays?",
}
_CONTEXT = {name: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for name, words in _CUES.items()}
_WORD = re.compile(r"[^\W_]{3,}")
_EMPTY = frozenset({"the", "and", "with", "for", "when", "only", "not", "are", "from"})


@lru_cache(maxsize=20_000)
def contexts(text: str, now: datetime) -> frozenset[str]:
    """The contexts that a text of day ``now`` states; a named Saturday or Sunday is a weekend."""
    found = {name for name, pattern in _CONTEXT.items() if pattern.search(text)}
    if any(day.weekday() >= 5 for day in find_days(text, now)):
        found.add("at_weekend")
    return frozenset(found)


def holds(scope: str, request: str, now: datetime) -> tuple[bool, str]:
    """Whether ``scope`` holds for the request, and why. An empty scope holds everywhere.

    Known contexts are read from the request; another scope holds if the request shares a word with it.
    A scope that starts with "not " holds where the rest does not.
    """
    if not scope:
        return True, "holds everywhere"
    if scope.lower().startswith(("not ", "not_")):
        inside, reason = holds(scope[4:], request, now)
        return not inside, f"the opposite: {reason}"
    name = re.sub(r"\W+", "_", scope.lower()).strip("_")
    known = next((context for context in _CONTEXT if context in name), None) or _context_named(scope)
    if known is not None:
        inside = known in contexts(request, now)
        return inside, f"the request {'states' if inside else 'does not state'} the context {known}"
    shared = _content(scope) & _content(request)
    if shared:
        return True, f"the request mentions {', '.join(sorted(shared))}"
    return False, f"the request says nothing of {scope!r}"


def _context_named(scope: str) -> str | None:
    """A scope in free words ("when the kids are along") names a known context if it holds one of its cues."""
    return next((name for name, pattern in _CONTEXT.items() if pattern.search(scope)), None)


def _content(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text.replace("_", " "))) - _EMPTY
