"""What the API takes and gives for agents elsewhere. Descriptions are what a stranger needs to write a client."""

from __future__ import annotations

import json
import math
from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Field, Schema
from pydantic import field_validator

from agents.contract import Engine
from bench.runs.external import MAX_STEPS, MAX_TEXT
from bench.texts import unstorable

DEEPEST = 20
MAX_DATA = 20_000  # characters of one step's data, or of a call's arguments, as JSON
MOST = 2**31 - 1
NAME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")

Count = Annotated[int, Field(ge=0, le=MOST)]


class Given(Schema):
    """A body of a request: whatever is taken from it can be stored. What cannot is refused by the field's name."""

    @field_validator("*", mode="before")
    @classmethod
    def check_storable(cls, value: object) -> object:
        _check(value, 1)
        return value


def _check(value: object, depth: int) -> None:
    """Raises ValueError for what no column of ours can hold."""
    if depth > DEEPEST:
        raise ValueError(f"is nested deeper than {DEEPEST} levels")
    if isinstance(value, str) and (fault := unstorable(value)):
        raise ValueError(f"a text holds {fault}; take it out")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is no finite number")
    if isinstance(value, int) and abs(value) > 10**30:
        raise ValueError("a number has more than 30 digits")
    if isinstance(value, dict):
        for key, inner in value.items():
            _check(key, depth)
            _check(inner, depth + 1)
    if isinstance(value, list):
        for inner in value:
            _check(inner, depth + 1)


def _short(data: dict[str, Any]) -> dict[str, Any]:
    if (length := len(json.dumps(data))) > MAX_DATA:
        raise ValueError(f"has {length} characters as JSON; at most {MAX_DATA} are taken")
    return data


class ExternalRunIn(Given):
    name: str = Field(description="your method's name: 2 to 28 small letters (a to z), digits and _")
    dataset: str = Field(max_length=60, description="a dataset's name, as in GET /api/datasets; its newest version")
    model: str = Field(
        min_length=1,
        max_length=160,
        description="the model that your agent uses, as you call it; `offline` only if it is the simulated reader",
    )
    judges: list[Annotated[str, Field(max_length=160)]] = Field(
        description="endpoints that grade the texts; an empty list: rules and people only. Simulated judges "
        "(offline-judge-a, ...) grade a simulated model only"
    )
    domains: list[Annotated[str, Field(max_length=60)]] = Field(default_factory=list, description="all unless named")
    limit: int | None = Field(None, description="tasks, at most")
    even_if_invalid: bool = Field(False, description="run also on a dataset whose version fails its checks")

    @field_validator("name")
    @classmethod
    def check_name(cls, value: str) -> str:
        if not (2 <= len(value) <= 28 and set(value) <= NAME):
            raise ValueError(f"{value[:40]!r} does not fit; use 2 to 28 small letters (a to z), digits and _")
        return value


class SearchIn(Given):
    query: str = Field(min_length=1, max_length=2000, description="what to look for, in words")
    k: int = Field(10, ge=1, le=40, description="events wanted, at most")
    engine: Engine = Field(Engine.HYBRID, description="how to look (docs/retrieval.md)")


class ToolIn(Given):
    name: str = Field(max_length=200, description="of a tool of the task")
    arguments: dict[str, Any] = Field(
        default_factory=dict,
        description="by the tool's schema. null in a look-up: any value. null in a committing call, where the "
        "schema allows it: you would have to ask; it satisfies no checkpoint",
    )

    _short = field_validator("arguments")(_short)


class StepIn(Given):
    stage: Literal["look_up", "retrieve", "think", "align", "plan", "act", "verify", "other"] = Field(
        "other", description="what it was for"
    )
    kind: Literal["model", "search", "tool", "code", "note"] = Field("note", description="what did it")
    summary: str = Field(max_length=2000, description="one sentence for people")
    data: dict[str, Any] = Field(default_factory=dict, description="detail; an object")

    _short = field_validator("data")(_short)


class SubmissionIn(Given):
    text: str = Field("", max_length=MAX_TEXT, description="the text, for a task whose action_kind is generate")
    steps: list[StepIn] = Field(
        default_factory=list,
        max_length=MAX_STEPS,
        description="what your agent says that it did, marked as claimed. Searches and tool calls need not stand "
        "here: they are taken from the server's record",
    )
    llm_calls: Count = Field(0, description="model calls, as you count them")
    tokens_in: Count = Field(0, description="prompt tokens, as you count them")
    tokens_out: Count = Field(0, description="generated tokens, as you count them")
    cost_usd: float = Field(0.0, ge=0, le=1e6, description="what they cost you in US dollars")
    gave_up: str = Field("", max_length=2000, description="why there is no action; the task then counts as failed")


class ExternalRunOut(Schema):
    run: int = Field(description="id for the addresses below /api/external/runs/")
    units: int = Field(description="tasks to work on")
    method: str = Field(description="external- and the name that you gave")
    simulated: bool = Field(description="true where model or judges are the simulated ones")
    gold_seen: bool = Field(description="true where who takes part had been shown gold of the dataset before")


class ToolSpecOut(Schema):
    name: str = Field(description="name to call it by")
    description: str = Field(description="what it does")
    parameters: dict[str, Any] = Field(description="JSON schema of the arguments")
    commits: bool = Field(description="true for the one call that acts; all others only look up")


class TaskOut(Schema):
    task_id: str = Field(description="the same in every run on this dataset")
    domain: str = Field(description="slug of the domain")
    scenario: str = Field(description="what the task is about")
    request: str = Field(description="what the person asks for")
    as_of: datetime = Field(description="now, for the task; the history ends before it")
    action_kind: Literal["generate", "call_api"] = Field(
        description="a text, or committing calls, one of each tool that commits"
    )
    tools: list[ToolSpecOut] = Field(description="empty for generate")


class LimitsOut(Schema):
    evidence_events: int = Field(description="different events that a task may see in all its searches")
    evidence_tokens: int = Field(description="tokens of these events together, counted as four characters each")
    tool_calls: int = Field(description="calls that found or did something; others cost nothing")


class RemainingOut(Schema):
    events: int = Field(description="different events that may still be seen")
    tokens: int = Field(description="tokens of their texts")
    tool_calls: int = Field(description="calls that may still find or do something")


class EventOut(Schema):
    event_id: str = Field(description="id of the event")
    occurred_at: datetime = Field(description="when it was")
    channel: str = Field(description="where it comes from, such as message or calendar")
    text: str = Field(description="what it says")
    score: float = Field(
        description="how well it fits the query by the engine's own measure, higher is better; a search that matches "
        "little is filled up to k with events of low score"
    )


class FoundEventOut(EventOut):
    seen_before: bool = Field(description="true where an earlier search of this task gave it; it costs nothing again")


class CallOut(Schema):
    tool: str = Field(description="name of the tool")
    arguments: dict[str, Any] = Field(description="as they were given")


class NextOut(Schema):
    unit: int | None = Field(description="id for the addresses below /api/external/units/; null once none is left")
    task: TaskOut | None = Field(None, description="what to do")
    limits: LimitsOut | None = Field(None, description="the whole budget of the task")
    remaining: RemainingOut | None = Field(None, description="what is left of it")
    evidence_served: list[EventOut] = Field(default_factory=list, description="what earlier searches gave")
    committed: list[CallOut] = Field(default_factory=list, description="committing calls accepted so far")


class FoundOut(Schema):
    events: list[FoundEventOut] = Field(description="best first; empty where nothing was found")
    held_back: int = Field(description="events that were found and would break the budget")
    remaining: RemainingOut = Field(description="what is left of the budget")


class ToolOut(Schema):
    ok: bool = Field(description="whether it found or did something; only then it costs a call")
    accepted: bool | None = Field(description="of a committing call: whether it went through; null for a look-up")
    items: list[dict[str, Any]] | None = Field(None, description="of a look-up: the first items found")
    total: int | None = Field(None, description="of a look-up: how many there are")
    confirmation: str | None = Field(None, description="of a committing call that went through")
    number: int | None = Field(None, description="committing calls so far; more than one of a tool fails the task")
    error: str | None = Field(None, description="what did not fit, or which values there are, in a sentence")
    remaining: RemainingOut = Field(description="what is left of the budget")


class StoredOut(Schema):
    stored: Literal[True] = Field(True, description="always true; what is not stored is answered with an error")
    trajectory: int = Field(description="id of what was stored")
    action: Literal["text", "call", "none"] = Field(description="what counts as your action")
    claimed_steps: int = Field(description="steps of yours, kept as claimed")
    recorded_steps: int = Field(description="searches and calls from the server's record")
    evidence: int = Field(description="events that your agent saw")
    judges_follow: bool = Field(
        description="true where the run's judges still grade it; false where rules have, or people will"
    )


class HeldOut(Schema):
    unit: int = Field(description="id for the addresses below /api/external/units/")
    lease_until: datetime | None = Field(description="then it goes back to the queue, unless a request comes before")


class ExternalProgressOut(Schema):
    run: int = Field(description="id of the run")
    status: str = Field(description="running, paused, cancelled or done; only a running one is served")
    dataset: str = Field(description="name and version")
    method: str = Field(description="external- and the name that was given")
    model: str = Field(description="the model that the agent uses, as its people call it")
    simulated: bool = Field(description="true where model or judges are the simulated ones")
    gold_seen: bool = Field(description="true where who takes part had been shown gold of the dataset before")
    planned: int = Field(description="tasks of the run")
    left: int = Field(description="tasks that nobody has taken yet")
    held: list[HeldOut] = Field(description="tasks that this token works on")
    held_by_others: int = Field(description="tasks that other tokens work on")
    waiting_for_judges: int = Field(description="tasks that were submitted and are not yet graded")
    scored: int = Field(description="tasks that were submitted and graded")
    failed: int = Field(description="tasks that ended by a fault")
    cancelled: int = Field(description="tasks that ended with a cancel")
