"""Stage 2, broad thinking: think freely first, write typed constraints second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any

from agents.contract import (
    JSON,
    LLM,
    Constraint,
    ConstraintKind,
    Evidence,
    Polarity,
    Step,
    TaskInput,
    Topic,
)
from agents.dates import validity
from agents.iba.model import EvidenceNet, Thoughts
from agents.rendering import chat, evidence_ids, evidence_lines, quoted, task_values, topic_lines

MOST_CONSTRAINTS = 24


def think(task: TaskInput, net: EvidenceNet, *, llm: LLM) -> Thoughts:
    """Constraints that the evidence shows. Two model calls; none where there is no evidence."""
    if not net.evidence:
        return Thoughts("", (), (Step("think", "note", "No evidence, so no constraints."),))
    values = {
        **task_values(task),
        "topics": topic_lines(topics_of(task, net), options=True),
        "evidence": evidence_lines(net.evidence),
    }
    notes = llm.complete(chat("iba/think_draft", **values), stage="think").text
    reply = llm.complete(
        chat("iba/think_constraints", **values, thoughts=quoted(notes)),
        stage="constraints",
        schema=constraint_schema(),
    )
    rows = (reply.parsed or {}).get("constraints", [])
    constraints = accept(rows, net.evidence, task.vocabulary)
    step = Step("think", "code", f"Accepted {len(constraints)} of {len(rows)} constraints; the others cite nothing.",
                {"accepted": [item.constraint_id for item in constraints], "offered": len(rows)})  # fmt: skip
    return Thoughts(notes, constraints, (step,))


def topics_of(task: TaskInput, net: EvidenceNet) -> tuple[Topic, ...]:
    """The predicted topics, or those of the task's domain where none was predicted."""
    wanted = set(net.topics) or {topic.slug for topic in task.vocabulary if topic.slug.startswith(f"{task.domain}.")}
    return tuple(topic for topic in task.vocabulary if topic.slug in wanted)


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
    text = " ".join(str(row.get("text", "")).split())
    if not cited or not text:
        return None
    cited.sort(key=lambda item: (item.occurred_at, item.event_id))
    dimension, value = _known(str(row.get("dimension") or ""), str(row.get("value") or ""), vocabulary)
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
    text: JSON = {"type": "string"}
    row: JSON = {
        "type": "object",
        "properties": {
            "dimension": text,
            "value": text,
            "text": text,
            "polarity": {"type": "string", "enum": [item.value for item in Polarity]},
            "kind": {"type": "string", "enum": [item.value for item in ConstraintKind]},
            "scope": text,
            "valid_until": {"type": ["string", "null"]},
            "strength": {"type": "number"},
            "evidence": {"type": "array", "items": text},
        },
        "required": ["dimension", "value", "text", "polarity", "kind", "scope", "valid_until", "strength", "evidence"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"constraints": {"type": "array", "items": row}},
        "required": ["constraints"],
        "additionalProperties": False,
    }
