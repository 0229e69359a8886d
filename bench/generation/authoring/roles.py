"""The roles that a model plays for a year's texts: their prompts, and their replies read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from string import Template

from agents.contract import JSON, LLM, Message, Stage
from agents.toolkit.rendering import bullets, one_line
from bench.catalogue import Dimension, Person
from bench.generation.spec import DAYS, START, EventSpec, PersonaSpec

STORYLINES = 8
REPLY_TOKENS = 600
NONE = "none"
_PROMPTS = Path(__file__).parent / "prompts"


@dataclass(frozen=True)
class Storyline:
    """Something that goes on in a life for some weeks."""

    first: date
    last: date
    what: str


@dataclass(frozen=True)
class Reading:
    """What a blind reader made of a text. ``shows``: a value, a question's number, "same", or none of them."""

    shows: str
    outright: bool
    contradicts: str


def direct(persona: PersonaSpec, llm: LLM) -> tuple[Storyline, ...]:
    """The director's storylines, at most STORYLINES; those outside the year or without words are left out."""
    row = _object({"first": _text(), "last": _text(), "what": _text()})
    reply = _ask(llm, director_prompt(persona), {"storylines": {"type": "array", "items": row, "maxItems": STORYLINES}})
    read = [_storyline(given) for given in reply.get("storylines", [])]
    return tuple(found for found in read if found is not None)[:STORYLINES]


def write(kind: str, persona: PersonaSpec, event: EventSpec, storyline: str, before: Sequence[str], llm: LLM) -> str:
    """A text in place of an event's. ``kind``: writer or noise; ``before``: why earlier ones were turned down."""
    reply = _ask(llm, writer_prompt(kind, persona.person, event, storyline, before), {"written": _text()})
    return one_line(str(reply.get("written", "")).strip().strip('"'))


def answer(text: str, llm: LLM) -> str:
    """The assistant's answer to a message."""
    return one_line(str(_ask(llm, answer_prompt(text), {"answer": _text()}).get("answer", "")))


def judge_value(persona: PersonaSpec, event: EventSpec, text: str, dimension: Dimension, llm: LLM) -> Reading:
    """Which value of a dimension a text shows to hold, or rules out, to a reader who knows of neither."""
    statements = statements_of(dimension, text)
    properties = {
        "shows": {"type": "string", "enum": [*statements, NONE]},
        "outright": {"type": "string", "enum": ["yes", "no"]},
        "contradicts": _text(),
    }
    reply = _ask(llm, critic_prompt(persona.person, event, text, dimension), properties)
    shows = statements.get(str(reply.get("shows")), NONE)
    return Reading(shows, reply.get("outright") == "yes", _contradicted(reply))


def judge_noise(persona: PersonaSpec, event: EventSpec, text: str, questions: Sequence[str], llm: LLM) -> Reading:
    """Whether a text that is to show nothing answers one of the questions."""
    numbers = [f"q{n}" for n in range(1, len(questions) + 1)]
    properties = {"answers": {"type": "string", "enum": [*numbers, NONE]}, "contradicts": _text()}
    reply = _ask(llm, noise_prompt(persona.person, event, text, questions), properties)
    return Reading(str(reply.get("answers")), False, _contradicted(reply))


def judge_state(persona: PersonaSpec, event: EventSpec, text: str, llm: LLM) -> Reading:
    """Whether a text tells of a state what the authored one tells."""
    properties = {"same": {"type": "string", "enum": ["yes", "no"]}, "contradicts": _text()}
    reply = _ask(llm, state_prompt(persona.person, event, text), properties)
    return Reading("same" if reply.get("same") == "yes" else NONE, False, _contradicted(reply))


def director_prompt(persona: PersonaSpec) -> list[Message]:
    known = [f"{period.start} to {period.end}: {period.state.name}" for period in persona.states]
    known += [f"{change.on}: {change.what}" for change in persona.person.changes]
    first, last = START.date(), date.fromordinal(START.date().toordinal() + DAYS - 1)
    return _prompt("director", person=facts(persona.person), known=bullets(known), first=str(first), last=str(last))


def writer_prompt(kind: str, person: Person, event: EventSpec, storyline: str, before: Sequence[str]) -> list[Message]:
    return _prompt(
        kind, person=facts(person), storyline=storyline or "nothing in particular", text=_quoted(event.text),
        when=f"{event.occurred_at:%A %d %B %Y, %H:%M}", channel=event.channel, turned_down=bullets(before),
    )  # fmt: skip


def critic_prompt(person: Person, event: EventSpec, text: str, dimension: Dimension) -> list[Message]:
    verb = "rules out" if event.role == "against" else "shows to hold"
    order = statements_of(dimension, text)
    rows = [f"[{key}] {one_line(dimension.value(slug).description)}" for key, slug in order.items()]
    return _prompt(
        "critic", verb=verb, person=facts(person), question=dimension.question, statements="\n".join(rows),
        text=_record(event, text),
    )  # fmt: skip


def noise_prompt(person: Person, event: EventSpec, text: str, questions: Sequence[str]) -> list[Message]:
    rows = "\n".join(f"[q{n}] {question}" for n, question in enumerate(questions, 1))
    return _prompt("critic_noise", person=facts(person), questions=rows or NONE, text=_record(event, text))


def state_prompt(person: Person, event: EventSpec, text: str) -> list[Message]:
    return _prompt("critic_state", person=facts(person), first=_record(event, event.text), text=_record(event, text))


def answer_prompt(text: str) -> list[Message]:
    return _prompt("assistant", text=_quoted(text))


def statements_of(dimension: Dimension, text: str) -> Mapping[str, str]:
    """Id -> value, in an order that says nothing and is the same each time."""
    slugs = sorted(value.slug for value in dimension.values)
    mixed = sorted(slugs, key=lambda slug: hashlib.sha256(f"{text}\0{slug}".encode()).digest())
    return {f"s{n}": slug for n, slug in enumerate(mixed, 1)}


def facts(person: Person) -> str:
    """A person's circumstances, as one line each."""
    children = f", children aged {', '.join(map(str, person.children))}" if person.children else ""
    return bullets(
        [
            f"{person.name} ({person.gender}), {person.age}, {person.job}",
            f"{person.town}, {person.country}; {person.household}{children}",
            f"first language {person.first_language}; {person.tech} ease with devices",
            f"speaks so: {'; '.join(person.habits)}",
            f"facts: {', '.join(fact.value.replace('_', ' ') for fact in person.tags)}",
        ]
    )


def _storyline(row: JSON) -> Storyline | None:
    try:
        first, last = date.fromisoformat(str(row.get("first"))), date.fromisoformat(str(row.get("last")))
    except ValueError:
        return None
    what = one_line(str(row.get("what", "")))
    inside = START.date() <= first <= last and (first - START.date()).days < DAYS
    return Storyline(first, last, what) if inside and what else None


def _ask(llm: LLM, messages: list[Message], properties: JSON) -> JSON:
    reply = llm.complete(messages, stage=Stage.AUTHOR, schema=_object(properties), max_tokens=REPLY_TOKENS)
    return reply.parsed or {}


def _prompt(name: str, **values: str) -> list[Message]:
    return [
        {"role": "system", "content": _template("system").substitute()},
        {"role": "user", "content": _template(name).substitute(values)},
    ]


@cache
def _template(name: str) -> Template:
    return Template((_PROMPTS / f"{name}.md").read_text(encoding="utf-8"))


def _contradicted(reply: JSON) -> str:
    said = one_line(str(reply.get("contradicts", "")))
    return "" if said.casefold().strip(". ") in ("", NONE, "no", "nothing") else said


def _record(event: EventSpec, text: str) -> str:
    return _quoted(f"[{event.channel}] {text}")


def _quoted(text: str) -> str:
    return f"> {one_line(text)}"


def _text() -> JSON:
    return {"type": "string"}


def _object(properties: JSON) -> JSON:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
