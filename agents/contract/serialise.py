"""Trajectories as JSON and back. The format number changes when an old file would be misread."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

from agents.contract import (
    JSON,
    TRAJECTORY_FORMAT,
    Action,
    ActionKind,
    Constraint,
    ConstraintKind,
    ConstraintStatus,
    Evidence,
    Link,
    Polarity,
    Step,
    Termination,
    Trajectory,
    Usage,
)


def to_json(trajectory: Trajectory) -> JSON:
    """Plain JSON values; times in ISO 8601. Vectors of evidence are left out."""
    document: JSON = _plain(trajectory)
    return document


def from_json(document: JSON) -> Trajectory:
    """The inverse of ``to_json``. Raises ValueError for a format that this version does not read."""
    found = document.get("format")
    if found != TRAJECTORY_FORMAT:
        raise ValueError(f"trajectory format {found!r} is not readable; this version reads {TRAJECTORY_FORMAT}")
    action = document["action"]
    return Trajectory(
        termination=Termination(document["termination"]),
        steps=tuple(Step(**step) for step in document["steps"]),
        evidence=tuple(_evidence(item) for item in document["evidence"]),
        constraints=tuple(_constraint(item) for item in document["constraints"]),
        plan=tuple(document["plan"]),
        action=_action(action) if action is not None else None,
        links=tuple(Link(link["part"], link["constraint_id"], tuple(link["evidence"])) for link in document["links"]),
        usage=Usage(**document["usage"]),
        error=document["error"],
        format=found,
    )


def _evidence(item: JSON) -> Evidence:
    return Evidence(**{**item, "occurred_at": _time(item["occurred_at"]), "support": tuple(item["support"])})


def _action(item: JSON) -> Action:
    return Action(**{**item, "kind": ActionKind(item["kind"]), "would_ask": tuple(item["would_ask"])})


def _constraint(item: JSON) -> Constraint:
    return Constraint(
        **{
            **item,
            "polarity": Polarity(item["polarity"]),
            "kind": ConstraintKind(item["kind"]),
            "status": ConstraintStatus(item["status"]),
            "valid_from": _time(item["valid_from"]),
            "valid_until": _time(item["valid_until"]),
            "evidence": tuple(item["evidence"]),
        }
    )


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value) if field.name != "vector"}
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, str) else value
