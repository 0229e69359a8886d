"""Habits that many records show together: the reader puts those that it sees together by the rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

from agents.contract import JSON
from bench.caching import made_once
from bench.catalogue.regularities import WEEKDAYS, Regularity
from bench.catalogue.texts import SLOT
from bench.catalogue.words import content_stems
from bench.generation.habits import agrees, settle
from bench.reader.faults import draw
from bench.reader.knowledge import catalogue, own_words

if TYPE_CHECKING:
    from bench.reader.prompt import Known
    from bench.reader.view import View

Value = tuple[str, str]  # regularity, value
REGULAR = "regular"  # role of a record
_SAID = re.compile(r"([^:>\[\]]+): ([\w.:]+), by many records\.")
_WITHIN = re.compile(r"\s*\(within [^)]*\)")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_TOKENS = {
    "amount": re.compile(r"\d+(?:\.\d+)?"),
    "number": re.compile(r"\d+(?:\.\d+)?"),
    "time": re.compile(r"\b\d{1,2}:\d{2}\b"),
    "weekday": re.compile("|".join(WEEKDAYS)),
}


def said(reference: str, value: str) -> str:
    """In words that ``heard`` reads back."""
    return f"{catalogue().regularities[reference].name}: {value}, by many records."


def heard(text: str) -> Value | None:
    match = _SAID.search(text)
    reference = _by_name().get(match[1].strip().removeprefix("- ")) if match else None
    return (reference, match[2]) if match and reference else None


@made_once()
def _by_name() -> dict[str, str]:
    return {one.name: reference for reference, one in catalogue().regularities.items()}


def asked(view: View) -> tuple[str, ...]:
    """The regularities whose value the request wants."""
    return tuple(view.asked.scenario.regularities) if view.asked else ()


def records(view: View, reference: str) -> list[Known]:
    """The records of a habit that the prompt shows and the reader understands, the earliest first."""
    found = [k for k in view.history if k.shown.role == REGULAR and k.shown.dimension == reference]
    understood = [k for k in found if draw("understands", k.text) < view.dials.understands]
    return sorted(understood, key=lambda known: known.shown.on)


def shown_by(regularity: Regularity, known: Known) -> str:
    """What one record shows; a weekday is that of its day, since the same words may stand on another one."""
    return f"{known.shown.on:%A}" if regularity.answer == "weekday" else known.shown.value


def settled(view: View, reference: str) -> str:
    """The value that constraints or a profile name, else the one that the records show together, "" for none."""
    regularity = catalogue().regularities[reference]
    own = settle(regularity, [shown_by(regularity, known) for known in records(view, reference)])
    lines = [text for title in ("Constraints", "Checks") for _, text in view.prompt.labelled(title)]
    lines += view.prompt.sections.get("Profile", "").splitlines()
    given = [found[1] for line in lines if (found := heard(line)) and found[0] == reference]
    return own if own in given or not given else given[-1]


def kept(view: View, reference: str) -> str:
    """The settled value, where it reaches the action."""
    return settled(view, reference) if draw("keeps", view.request, reference) < view.dials.keeps else ""


def takes(view: View, tool: str, name: str) -> str:
    """The regularity whose value an argument takes, "" for none."""
    tools = view.asked.scenario.tools if view.asked else None
    if view.asked is None or tools is None or tool not in {one.name for one in tools.commits}:
        return ""
    return next((r for r, typed in view.asked.scenario.regularities.items() if typed.parameter == name), "")


def argument(view: View, reference: str) -> object:
    """The value as its parameter takes it; None where nothing settles it."""
    value, answer = kept(view, reference), catalogue().regularities[reference].answer
    if not value or answer in ("time", "weekday"):
        return value or None
    return int(value) if float(value).is_integer() and "." not in value else float(value)


def rows(view: View) -> Iterator[JSON]:
    """One constraint for each habit of the request that records show."""
    given = [found for _, text in view.prompt.labelled("Constraints") if (found := heard(text))]
    for reference in asked(view):
        known, value = records(view, reference), settled(view, reference)
        if value and known and (reference, value) not in given:
            yield {
                "about": catalogue().regularities[reference].name,
                "value": value,
                "dimension": reference,
                "text": said(reference, value),
                "polarity": "for",
                "kind": "trait",
                "scope": "",
                "valid_from": known[0].shown.on.isoformat(),
                "valid_until": "",
                "strength": 0.9,
                "evidence": [k.label for k in known if k.label][:4],
                "counter": "",
            }


def points(view: View) -> list[JSON]:
    """What the person would want told, beside the preferences."""
    return [
        {"text": said(r, value), "evidence": [k.label for k in records(view, r) if k.label][:4]}
        for r in asked(view)
        if (value := settled(view, r))
    ]


def notes(view: View) -> list[str]:
    """A line for every habit that the records show, also where no request is known."""
    every = asked(view) or tuple(dict.fromkeys(k.shown.dimension for k in view.history if k.shown.role == REGULAR))
    return [said(reference, value) for reference in every if (value := settled(view, reference))]


def aspects(view: View) -> list[JSON]:
    return [
        {"name": catalogue().regularities[r].name, "behaviours": [catalogue().regularities[r].question] * 2}
        for r in asked(view)
    ]


def check(view: View, label: str, text: str) -> JSON | None:
    """Whether the draft names the value that a check asks for; None where the check is about something else."""
    found = heard(text)
    if found is None:
        return None
    typed = view.asked.scenario.regularities.get(found[0]) if view.asked else None
    if typed is None:
        return {"id": label, "met": "not_applicable", "where": ""}
    named = found[1] in view.prompt.sections.get("Draft", "")
    return {"id": label, "met": "yes" if named else "no", "where": typed.parameter or ""}


def lines(view: View) -> list[str]:
    """What a text says of each habit that it has to name."""
    scenario = view.asked.scenario if view.asked else None
    found = []
    for reference, typed in scenario.regularities.items() if scenario else ():
        if value := kept(view, reference):
            words = _WITHIN.sub("", typed.checkpoint).replace("{value}", value)
            found.append(SLOT.sub(lambda match: (view.asked.words if view.asked else {}).get(match[1], ""), words))
    return found


def judged(point: str, candidate: str) -> tuple[bool, str] | None:
    """Whether a text names a value within the tolerance and none beyond it; None where the point asks for none."""
    for pattern, reference, own in _points():
        if match := pattern.fullmatch(point):
            regularity = catalogue().regularities[reference]
            tolerance = Decimal(match.groupdict().get("tolerance") or str(regularity.tolerance))
            wanted, near = match["value"], content_stems(_WITHIN.sub("", point))
            parts = [
                part
                for part in _SENTENCE.split(candidate)
                if len(near & content_stems(part)) > 1 and (not own or own & content_stems(part))
            ]
            named = [value for part in parts for value in _TOKENS[regularity.answer].findall(part)]
            right = bool(named) and all(agrees(regularity.answer, value, wanted, tolerance) for value in named)
            return right, f"Here the text names {' and '.join(named) or 'no value'}."
    return None


@made_once()
def _points() -> list[tuple[re.Pattern[str], str, frozenset[str]]]:
    """Of each checkpoint that asks for a value: its pattern, its habit, and what words its scenario's others lack."""
    scenarios = [s for data in catalogue().domains.values() for s in data.scenarios.values() if s.action == "generate"]
    return [
        (_pattern(t.checkpoint), r, own_words(t.checkpoint, s)) for s in scenarios for r, t in s.regularities.items()
    ]


def _pattern(checkpoint: str) -> re.Pattern[str]:
    named = {"value": r"(?P<value>[\w.:]+)", "tolerance": r"(?P<tolerance>[\d.]+)"}
    parts, place = "", 0
    for match in SLOT.finditer(checkpoint):
        parts += re.escape(checkpoint[place : match.start()]) + named.get(match[1], ".+?")
        place = match.end()
    return re.compile(parts + re.escape(checkpoint[place:]))
