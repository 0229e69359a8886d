"""What code finds wrong with a written text, without asking anybody. Each gives one reason, "" where there is none."""

from __future__ import annotations

import re

from bench.catalogue import Dimension
from bench.catalogue.words import content_stems
from bench.generation.spec import EventSpec

SHORTEST, LONGEST = 0.3, 2.5  # times the authored length
ROOM = 60  # characters that a text may have beyond that, since the shortest are of a few words
_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")
_NAMED = re.compile(r"\b(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|(?:January|February|March|April|June|July|August"
                    r"|September|October|November|December))\b")  # fmt: skip


def length(event: EventSpec, text: str) -> str:
    if not text:
        return "it is empty"
    least, most = SHORTEST * len(event.text), LONGEST * len(event.text) + ROOM
    return "" if least <= len(text) <= most else f"it has {len(text)} characters; {least:.0f} to {most:.0f} are taken"


def figures(event: EventSpec, text: str) -> str:
    """Figures and days that the authored text names and a reader reckons with."""
    wanted = [*_FIGURE.findall(event.text), *_NAMED.findall(event.text)]
    missing = [figure for figure in wanted if figure not in text]
    return f"it leaves out {', '.join(missing)}" if missing else ""


def telling(event: EventSpec, text: str, dimension: Dimension) -> str:
    """Words of the value, its label or its description, or of the dimension's name, that the authored text has not."""
    value = dimension.value(event.value)
    named = content_stems(" ".join((value.slug.replace("_", " "), value.label, value.description, dimension.name)))
    told = named & content_stems(text) - content_stems(event.text)
    return f"it uses words that name the value: {', '.join(sorted(told))}" if told else ""


def repeated(text: str, taken: set[str]) -> str:
    return "the same text stands elsewhere in this history" if text in taken else ""
