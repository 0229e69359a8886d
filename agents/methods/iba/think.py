"""Stage 2, broad thinking: think freely first, write typed constraints second, then what follows from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta

from agents.contract import (
    JSON,
    LLM,
    BadReply,
    Constraint,
    ConstraintKind,
    Evidence,
    Message,
    Polarity,
    Stage,
    Step,
    StepKind,
    TaskInput,
)
from agents.methods.iba.stages import EvidenceNet, Thoughts
from agents.model.structured import schema_problem
from agents.toolkit.rendering import (
    chat,
    cited_events,
    constraint_lines,
    evidence_lines,
    one_line,
    quoted,
    task_lines,
)

MOST_CONSTRAINTS = 24
MOST_CITED = 4


def think(task: TaskInput, net: EvidenceNet, *, llm: LLM) -> Thoughts:
    """Constraints that the evidence shows. Two model calls; none where there is no evidence."""
    if not net.evidence:
        return Thoughts("", (), (Step(Stage.THINK, StepKind.NOTE, "No evidence, so no constraints."),))
    values = {"task": task_lines(task), "evidence": evidence_lines(net.evidence)}
    notes = llm.complete(chat("iba/notes", **values), stage=Stage.THINK).text
    rows = _ask_rows(chat("iba/constraints", **values, thoughts=quoted(notes)), llm=llm)
    constraints = accept(rows, net.evidence)
    return Thoughts(notes, constraints, (_step("Drew", rows, constraints),))


def consequences(
    task: TaskInput, net: EvidenceNet, constraints: Sequence[Constraint], *, llm: LLM
) -> tuple[Constraint, ...]:
    """What follows beyond the obvious (toothache -> soft food). One model call; none without constraints."""
    if not constraints:
        return ()
    prompt = chat(
        "iba/consequences",
        task=task_lines(task),
        evidence=evidence_lines(net.evidence),
        constraints=constraint_lines(constraints),
    )
    return accept(_ask_rows(prompt, llm=llm), net.evidence, prefix="x")


def accept(rows: Sequence[JSON], evidence: Sequence[Evidence], prefix: str = "c") -> tuple[Constraint, ...]:
    """Typed constraints out of a model's rows. A row that cites no known line, or says nothing, is dropped."""
    accepted: list[Constraint] = []
    for row in rows:
        constraint = _constraint(row, f"{prefix}{len(accepted) + 1}", evidence)
        if constraint is not None:
            accepted.append(constraint)
    return tuple(accepted[:MOST_CONSTRAINTS])


def _constraint(row: JSON, constraint_id: str, evidence: Sequence[Evidence]) -> Constraint | None:
    cited = cited_events(row["evidence"], evidence)
    about, value = one_line(row["about"]), one_line(row["value"])
    text = one_line(row["text"]) or ": ".join(part for part in (about, value) if part)
    if not cited or not text:
        return None
    kind = ConstraintKind(row["kind"])
    since = _day(row["valid_from"]) or cited[0].occurred_at
    until = _day(row["valid_until"])
    ends = None if until is None else until + timedelta(days=1)
    if kind is not ConstraintKind.STATE or (ends is not None and ends <= since):
        ends = None  # only a state ends, and none before it began
    return Constraint(
        constraint_id=constraint_id,
        about=about,
        value=value,
        text=text,
        polarity=Polarity(row["polarity"]),
        kind=kind,
        scope=one_line(row["scope"]),
        valid_from=since,
        valid_until=ends,
        strength=min(max(float(row["strength"]), 0.0), 1.0),
        evidence=tuple(item.event_id for item in cited),
        counter=one_line(row["counter"]),
    )


def _day(text: str) -> datetime | None:
    """The start of a day in ISO form, or None."""
    try:
        return datetime.combine(date.fromisoformat(text.strip()[:10]), time(), UTC)
    except ValueError:
        return None


def _ask_rows(messages: Sequence[Message], *, llm: LLM) -> list[JSON]:
    """The rows of a reply under ``constraint_schema``. Of a reply that was cut off, the rows that are whole."""
    try:
        reply = llm.complete(messages, stage=Stage.THINK, schema=constraint_schema())
    except BadReply as error:
        rows = whole_rows(error.text)
        if not rows:
            raise
        return rows
    return list((reply.parsed or {}).get("constraints", []))


def whole_rows(raw: str) -> list[JSON]:
    """The complete objects at the head of the list ``constraints`` in a text that ends too early."""
    decoder, rows = json.JSONDecoder(), list[JSON]()
    _, _, rest = raw.partition('"constraints"')
    rest = rest.partition("[")[2].lstrip()
    while rest.startswith("{"):
        try:
            row, end = decoder.raw_decode(rest)
        except ValueError:
            break
        if not schema_problem(row, _row_schema()):
            rows.append(row)
        rest = rest[end:].lstrip(", \n\r\t")
    return rows


def constraint_schema() -> JSON:
    """The reply's schema: an object with a list ``constraints``; see ``constraints.md`` for the fields."""
    return {
        "type": "object",
        "properties": {"constraints": {"type": "array", "items": _row_schema(), "maxItems": MOST_CONSTRAINTS}},
        "required": ["constraints"],
        "additionalProperties": False,
    }


def _row_schema() -> JSON:
    text: JSON = {"type": "string"}
    fields: JSON = {
        "about": text,
        "value": text,
        "text": text,
        "polarity": {"type": "string", "enum": list(map(str, Polarity))},
        "kind": {"type": "string", "enum": list(map(str, ConstraintKind))},
        "scope": text,
        "valid_from": text,
        "valid_until": text,
        "strength": {"type": "number"},
        "evidence": {"type": "array", "items": text, "maxItems": MOST_CITED},
        "counter": text,
    }
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _step(verb: str, rows: Sequence[JSON], kept: Sequence[Constraint]) -> Step:
    summary = f"{verb} {len(kept)} constraints; {len(rows) - len(kept)} more cite nothing."
    return Step(Stage.THINK, StepKind.CODE, summary, {"accepted": [item.constraint_id for item in kept]})
