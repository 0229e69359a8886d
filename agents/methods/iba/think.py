"""Stage 2, broad thinking: think freely first, write typed constraints second."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any

from agents.contract import (
    JSON,
    LLM,
    BadReply,
    Constraint,
    ConstraintKind,
    Evidence,
    Polarity,
    Step,
    TaskInput,
    Topic,
)
from agents.methods.iba.model import EvidenceNet, Thoughts
from agents.methods.iba.topics import topics_of
from agents.model.structured import schema_problem
from agents.toolkit.dates import validity
from agents.toolkit.rendering import (
    chat,
    evidence_ids,
    evidence_lines,
    found_lines,
    option_text,
    quoted,
    task_values,
    topic_lines,
)

MOST_CONSTRAINTS = 24
MOST_CITED = 4


def think(task: TaskInput, net: EvidenceNet, *, llm: LLM) -> Thoughts:
    """Constraints that the evidence shows. Two model calls; none where there is no evidence."""
    if not net.evidence:
        return Thoughts("", (), (Step("think", "note", "No evidence, so no constraints."),))
    values = {
        **task_values(task),
        "topics": topic_lines(topics_of(task, net), options=True),
        "evidence": evidence_lines(net.evidence),
        "found": found_lines(net.evidence),
    }
    notes = llm.complete(chat("iba/think_draft", **values), stage="think").text
    rows = ask_rows(chat("iba/think_constraints", **values, thoughts=quoted(notes)), llm=llm, stage="constraints")
    constraints = accept(rows, net.evidence, task.vocabulary)
    step = Step("think", "code", f"Accepted {len(constraints)} of {len(rows)} constraints; the others cite nothing.",
                {"accepted": [item.constraint_id for item in constraints], "offered": len(rows)})  # fmt: skip
    return Thoughts(notes, constraints, (step,))


def ask_rows(messages: Sequence[Mapping[str, Any]], *, llm: LLM, stage: str) -> list[JSON]:
    """The rows of a reply under ``constraint_schema``. Of a reply that was cut off, the rows that are whole."""
    try:
        reply = llm.complete(messages, stage=stage, schema=constraint_schema())
    except BadReply as error:
        rows = whole_rows(error.raw)
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


def accept(
    rows: Sequence[Mapping[str, Any]], evidence: Sequence[Evidence], vocabulary: Sequence[Topic], prefix: str = "c"
) -> tuple[Constraint, ...]:
    """Typed constraints out of a model's rows. A row that cites no known line, or says nothing, is dropped."""
    accepted: list[Constraint] = []
    for row in rows:
        constraint = _constraint(row, f"{prefix}{len(accepted) + 1}", evidence, vocabulary)
        if constraint is not None:
            accepted.append(constraint)
    return tuple(accepted[:MOST_CONSTRAINTS])


def _constraint(
    row: Mapping[str, Any], constraint_id: str, evidence: Sequence[Evidence], vocabulary: Sequence[Topic]
) -> Constraint | None:
    events = {item.event_id: item for item in evidence}
    ids = evidence_ids(evidence)
    cited = [events[ids[label]] for label in dict.fromkeys(row.get("evidence", [])) if label in ids]
    dimension, value = _known(str(row.get("dimension") or ""), str(row.get("value") or ""), vocabulary)
    text = " ".join(str(row.get("text", "")).split()) or option_sentence(dimension, value, vocabulary)
    if not cited or not text:
        return None
    cited.sort(key=lambda item: (item.occurred_at, item.event_id))
    kind = ConstraintKind(row.get("kind", ConstraintKind.TRAIT))
    return Constraint(
        constraint_id=constraint_id,
        dimension=dimension,
        value=value,
        text=text,
        polarity=Polarity(row.get("polarity", Polarity.FOR)),
        kind=kind,
        scope=str(row.get("scope") or ""),
        valid_from=cited[0].occurred_at,
        valid_until=_end(row, cited) if kind is ConstraintKind.STATE else None,
        strength=min(max(float(row.get("strength", 0.5)), 0.0), 1.0),
        evidence=tuple(item.event_id for item in cited),
    )


def _known(dimension: str, value: str, vocabulary: Sequence[Topic]) -> tuple[str, str]:
    """Slugs that the vocabulary has; an unknown value or dimension becomes empty."""
    topic = next((topic for topic in vocabulary if topic.slug == dimension), None)
    if topic is None:
        return "", ""
    return dimension, value if value in {option.slug for option in topic.options} else ""


def option_sentence(dimension: str, value: str, vocabulary: Sequence[Topic]) -> str:
    """What the vocabulary says of a value: "Seat: Aisle. Gets up often."; "" where it has none."""
    for topic in vocabulary:
        for option in topic.options if topic.slug == dimension else ():
            if option.slug == value:
                return option_text(topic.name, option.label, option.description)
    return ""


def _end(row: Mapping[str, Any], cited: Sequence[Evidence]) -> datetime | None:
    """When a state ends: what the cited texts say, read in code, else the day that the model gave."""
    spans = [validity(item.text, item.occurred_at) for item in cited]
    ends = [span.until for span in spans if span is not None]
    if ends:
        return max(ends)
    try:
        day = datetime.fromisoformat(str(row.get("valid_until") or "")).date()
    except ValueError:
        return None
    return datetime.combine(day, time(), UTC) + timedelta(days=1)


def constraint_schema() -> JSON:
    """The reply's schema: an object with a list ``constraints``; see ``think_constraints.md`` for the fields."""
    return {
        "type": "object",
        "properties": {"constraints": {"type": "array", "items": _row_schema(), "maxItems": MOST_CONSTRAINTS}},
        "required": ["constraints"],
        "additionalProperties": False,
    }


def _row_schema() -> JSON:
    text: JSON = {"type": "string"}
    fields: JSON = {
        "dimension": text,
        "value": text,
        "text": text,
        "polarity": {"type": "string", "enum": [item.value for item in Polarity]},
        "kind": {"type": "string", "enum": [item.value for item in ConstraintKind]},
        "scope": text,
        "valid_until": {"type": ["string", "null"]},
        "strength": {"type": "number"},
        "evidence": {"type": "array", "items": text, "maxItems": MOST_CITED},
    }
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
