"""One history written by several roles.

A director plans, a person and a noise writer write, an assistant answers, and a critic reads each text blind. What is
turned down is written once more, then the authored text stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from agents.contract import LLM, BadReply
from bench.catalogue import Catalogue
from bench.catalogue.regularities import RegularText
from bench.catalogue.texts import Channel, ChoiceRecord
from bench.generation.authoring import checks, roles
from bench.generation.authoring.roles import Reading, Storyline
from bench.generation.spec import EventSpec, PersonaSpec
from bench.generation.validity.recognise import Recogniser

T = TypeVar("T")
TRIES = 2
SHOWING = frozenset({"cue", "condition", "drift", "against"})
STATES = frozenset({"state_start", "state_course", "state_end"})
LONGEST_ANSWER = 240  # characters


@dataclass(frozen=True)
class Rejected:
    """A text that was turned down. ``position``: of its event in the persona's history."""

    persona: str
    position: int
    writer: str
    text: str
    reason: str


@dataclass
class Year:
    """A persona with its new texts, and what became of them. ``kept``: events whose authored text stands."""

    persona: PersonaSpec
    written: int = 0
    kept: int = 0
    rejected: list[Rejected] = field(default_factory=list)


def is_of_a_service(recogniser: Recogniser, event: EventSpec) -> bool:
    """Records of choices and of habits, and those that look alike and show nothing: a service words them all."""
    if event.role in ("record", "regular"):
        return True
    source = recogniser.source(event.channel, event.text)
    return source is not None and isinstance(source.text, ChoiceRecord | RegularText)


def write_year(persona: PersonaSpec, catalogue: Catalogue, recogniser: Recogniser, llm: LLM) -> Year:
    """The same events in other words. Raises what ``llm`` raises, except for a reply that cannot be used."""
    year, taken = Year(persona), {event.text for event in persona.events}
    storylines = _or_none(lambda: roles.direct(persona, llm)) or ()
    events = []
    for position, event in enumerate(persona.events):
        if is_of_a_service(recogniser, event):
            year.kept += 1
            events.append(event)
            continue
        text = _text(year, position, event, storylines, catalogue, taken, llm)
        taken.add(text)
        events.append(replace(event, text=text))
    year.persona = replace(persona, events=tuple(events))
    return year


def _text(
    year: Year, position: int, event: EventSpec, storylines: Sequence[Storyline], catalogue: Catalogue,
    taken: set[str], llm: LLM,
) -> str:  # fmt: skip
    """The first text that nothing speaks against, else the authored one; a message is answered."""
    persona, reasons = year.persona, list[str]()
    writer = "noise" if event.role == "everyday" else "writer"
    now = "; ".join(s.what for s in storylines if s.first <= event.occurred_at.date() <= s.last)
    for _ in range(TRIES):
        text = _or_none(lambda: roles.write(writer, persona, event, now, reasons, llm)) or ""
        fault = next(_faults(persona, event, text, catalogue, taken, llm), "")
        if not fault:
            year.written += 1
            return _answered(year, position, event, text, catalogue, llm)
        reasons.append(fault)
        year.rejected.append(Rejected(persona.slug, position, writer, text, fault))
    year.kept += 1
    return _answered(year, position, event, event.text, catalogue, llm)


def _faults(
    persona: PersonaSpec, event: EventSpec, text: str, catalogue: Catalogue, taken: set[str], llm: LLM
) -> Iterator[str]:
    """Reasons against a text, those first that cost nothing."""
    found = [checks.length(event, text), checks.repeated(text, taken - {event.text})]
    if event.role in STATES:
        found.append(checks.figures(event, text))
    if event.role in SHOWING:
        found.append(checks.telling(event, text, catalogue.dimension(event.dimension)))
    yield from filter(None, found)
    reading = _or_none(lambda: _read(persona, event, text, catalogue, llm))
    yield from filter(None, _objections(event, reading) if reading else ["the critic's reply cannot be used"])


def _read(persona: PersonaSpec, event: EventSpec, text: str, catalogue: Catalogue, llm: LLM) -> Reading:
    if event.role in STATES:
        return roles.judge_state(persona, event, text, llm)
    if event.role in SHOWING or event.role == "distractor":
        return roles.judge_value(persona, event, text, catalogue.dimension(event.dimension), llm)
    questions = [catalogue.dimension(trait.dimension).question for trait in persona.traits]
    return roles.judge_noise(persona, event, text, questions, llm)


def _objections(event: EventSpec, reading: Reading) -> Iterator[str]:
    wanted = event.value if event.role in SHOWING else "same" if event.role in STATES else roles.NONE
    if reading.shows != wanted:
        yield f"a blind reader takes it for {reading.shows!r}, not for {wanted!r}"
    if reading.outright and event.role in SHOWING:
        yield "it says outright what it is to show"
    if reading.contradicts:
        yield f"it contradicts the person's facts: {reading.contradicts}"


def _answered(year: Year, position: int, event: EventSpec, text: str, catalogue: Catalogue, llm: LLM) -> str:
    """A message to an assistant gets its answer, unless that tells what the message is to show."""
    if event.channel != Channel.MESSAGE:
        return text
    answer = _or_none(lambda: roles.answer(text, llm)) or ""
    fault = "" if 0 < len(answer) <= LONGEST_ANSWER else "the answer is empty or too long"
    if not fault and event.role in SHOWING:
        fault = checks.telling(event, answer, catalogue.dimension(event.dimension))
    if fault:
        year.rejected.append(Rejected(year.persona.slug, position, "assistant", answer, fault))
        return text
    return f"{text} [Assistant: {answer}]"


def _or_none(ask: Callable[[], T]) -> T | None:
    """What a role said; None for a reply that cannot be used, which is paid for and worth no retry of its own."""
    try:
        return ask()
    except BadReply:
        return None
