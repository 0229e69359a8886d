"""The reader in the roles of an author: it writes what it is given, and as a critic knows what authored texts show.

A text that no catalogue holds shows nothing to it, so what it wrote otherwise, by its dial ``errs``, it turns down.
"""

from __future__ import annotations

import re
from datetime import timedelta

from agents.contract import JSON
from bench.caching import made_once
from bench.catalogue.texts import Text
from bench.generation.spec import START
from bench.generation.validity.recognise import Recogniser, recogniser
from bench.reader.faults import draw
from bench.reader.knowledge import catalogue, dimensions
from bench.reader.view import View

NONE = "none"
_RECORD = re.compile(r"^> \[(\w+)\] ?(.*)$")


def storylines(view: View) -> list[JSON]:
    first, last = START.date(), START.date() + timedelta(days=40)
    return [{"first": first.isoformat(), "last": last.isoformat(), "what": "A repair drags on."}]


def written(view: View) -> str:
    """The event as it stands; at the rate ``errs`` something else, until that was turned down."""
    text = view.prompt.sections.get("Event", "").removeprefix("> ")
    errs = draw("writes", text) < view.dials.errs and not view.prompt.sections.get("Turned down before")
    return f"{text} And that is all there is to say of it." if errs else text


def shows(view: View) -> str:
    """The id of the statement that the text shows or rules out."""
    meant = _shown().get(_source(view.prompt.sections.get("Text", "")), ("", ""))
    for label, text in view.prompt.labelled("Statements"):
        if meant[0] and text == _flat(dimensions()[meant[0]].value(meant[1]).description):
            return label
    return NONE


def same(view: View) -> str:
    first, second = (_source(view.prompt.sections.get(title, "")) for title in ("First", "Text"))
    return "yes" if first and first == second else "no"


def _source(quoted: str) -> str:
    """The authored text that a record was made of, "" where none was."""
    match = _RECORD.match(quoted.strip())
    found = _authored().source(match[1], " ".join(match[2].split())) if match else None
    return found.text.text if found else ""


@made_once()
def _authored() -> Recogniser:
    return recogniser(catalogue())


@made_once()
def _shown() -> dict[str, tuple[str, str]]:
    """Authored text -> dimension and value that it shows or rules out."""
    found: dict[str, tuple[str, str]] = {}
    for reference, dimension in dimensions().items():
        texts: list[tuple[str, tuple[Text, ...]]] = []
        texts += [(value.slug, (*value.cues, *value.against)) for value in dimension.values]
        texts += [(drift.target, drift.told) for drift in dimension.drifts]
        for condition in dimension.conditions:
            texts += [(condition.value, condition.cues.when), (condition.otherwise, condition.cues.otherwise)]
        found |= {text.text: (reference, value) for value, told in texts for text in told}
    return found


def _flat(text: str) -> str:
    return " ".join(text.split())
