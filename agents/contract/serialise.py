"""Trajectories as JSON and back. The format number changes when an old file would be misread.

Format 1 named a constraint's matter by the slug of a list that agents were given (``dimension``) and an event's by
``topic``. It is still read: the slugs stand where free words stand now.
"""

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
    Cut,
    Evidence,
    Link,
    Part,
    Polarity,
    Stage,
    Step,
    StepKind,
    Termination,
    Trajectory,
    Usage,
)

READABLE = (1, TRAJECTORY_FORMAT)
# What format 1 called stages beside those that there are now.
_STAGES = {"topics": Stage.RETRIEVE, "constraints": Stage.THINK, "consequences": Stage.THINK, "draft": Stage.ACT}


def to_json(trajectory: Trajectory) -> JSON:
    """Plain JSON values; times in ISO 8601."""
    document: JSON = _plain(trajectory)
    return document


def from_json(document: JSON) -> Trajectory:
    """The inverse of ``to_json``. Raises ValueError for a format that this version does not read."""
    found = document.get("format")
    if found not in READABLE:
        allowed = " and ".join(str(number) for number in READABLE)
        raise ValueError(f"trajectory format {found!r} is not readable; this version reads {allowed}")
    action = document["action"]
    return Trajectory(
        termination=Termination(document["termination"]),
        steps=tuple(_step(step) for step in document["steps"]),
        evidence=tuple(_evidence(item) for item in document["evidence"]),
        constraints=tuple(_constraint(item) for item in document["constraints"]),
        plan=tuple(document["plan"]),
        action=_action(action) if action is not None else None,
        links=tuple(_link(link) for link in document["links"]),
        usage=Usage(**document["usage"]),
        error=document["error"],
    )


def _step(item: JSON) -> Step:
    stage, cut = _STAGES.get(item["stage"]) or Stage(item["stage"]), Cut(**item.get("cut", {}))
    return Step(**{**item, "stage": stage, "kind": StepKind(item["kind"]), "cut": cut})


def _link(item: JSON) -> Link:
    return Link(Part.named(item["part"]), item["constraint_id"], tuple(item["evidence"]))


def _evidence(item: JSON) -> Evidence:
    named = _renamed(item, "topic", "aspect")
    return Evidence(**{**named, "occurred_at": _time(item["occurred_at"]), "support": tuple(item["support"])})


def _action(item: JSON) -> Action:
    known = {
        "kind": ActionKind(item["kind"]),
        "would_ask": tuple(item["would_ask"]),
        "then": tuple(item.get("then", ())),
    }
    return Action(**{**item, **known})


def _constraint(item: JSON) -> Constraint:
    return Constraint(
        **{
            **_renamed(item, "dimension", "about"),
            "polarity": Polarity(item["polarity"]),
            "kind": ConstraintKind(item["kind"]),
            "status": ConstraintStatus(item["status"]),
            "valid_from": _time(item["valid_from"]),
            "valid_until": _time(item["valid_until"]),
            "evidence": tuple(item["evidence"]),
        }
    )


def _renamed(item: JSON, old: str, new: str) -> JSON:
    """The item of format 1 with its field's present name."""
    return {new if name == old else name: value for name, value in item.items()}


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Part):
        return str(value)
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, str) else value
