"""Which words of the request a free-text argument wants, by how people usually put it. Nothing fits: None."""

from __future__ import annotations

import re

LONGEST = 4000  # characters of a request that are looked at
_ENDS = r"(?=\s*(?:[.,;:!?\n]|$|\b(?:and|with|as|for|please|thanks)\b))"
_VALUE = r"(?:\"([^\"\n]{1,80})\"|“([^”\n]{1,80})”|'([^'\n]{1,80})'|(\w[^.,;:!?\"“”\n]{0,60}?)" + _ENDS + ")"
_ABOUT = r"\b(?:about|re|regarding|concerning|on|over)\s+"


def find(name: str, description: str, request: str) -> str | None:
    """The words of the request that the argument wants, as they stand there."""
    text = request[:LONGEST]
    patterns = [pattern for key in _keys(name, description) for pattern in _beside(key)]
    if re.search(r"\babout\b", description):
        patterns.append(_ABOUT + _VALUE)
    matches = (re.search(pattern, text, re.IGNORECASE) for pattern in patterns)
    return _listed(description, text) or next((_inner(match) for match in matches if match), None)


def _listed(description: str, text: str) -> str | None:
    """One of the values that the description lists ("Finish: matt or glossy")."""
    listed = [value.strip(" .") for value in re.split(r",|/|\bor\b", description.partition(":")[2])]
    standing = [v for v in listed if v and re.search(rf"(?<!\w){re.escape(v)}(?!\w)", text, re.IGNORECASE)]
    return max(standing, key=len, default=None)


def _keys(name: str, description: str) -> list[str]:
    """What the argument may be called: its name, and the first word of its description."""
    words = [name.replace("_", " "), *re.findall(r"[\w-]+", description.lower())[:1]]
    return [word for word in dict.fromkeys(words) if len(word) > 2]


def _beside(key: str) -> list[str]:
    """ "reference: X", "reference is X", "X as the reference"; the article tells "the reference is lost" apart."""
    word = re.escape(key)
    return [
        rf"\b{word}\s*(?:[:=]|\bis\b|\bshould be\b)\s*{_VALUE}",
        rf"(?:\b(?:put|use|give|write|take)\s+){_VALUE}\s+(?:as|for|in) (?:the|an?|my|our|its) {word}\b",
        rf"(?<!\bthe )(?<!\ba )(?<!\bany )\b{word}\s+{_VALUE}",
    ]


def _inner(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group).strip()
