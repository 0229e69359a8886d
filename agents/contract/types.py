"""The data that passes between benchmark and agent: frozen, typed, without behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from agents.contract.parts import Part

TRAJECTORY_FORMAT = 2

JSON = dict[str, Any]
Message = Mapping[str, Any]  # of a chat, as the OpenAI API has them


class ActionKind(StrEnum):
    """The two kinds of action in the paper's action space Y."""

    GENERATE = "generate"
    CALL_API = "call_api"


class Termination(StrEnum):
    """How a trajectory ended. Every ending is one of these."""

    COMPLETED = "completed"
    NO_ACTION = "no_action"  # the agent finished without text or committing call
    CUT_OFF = "cut_off"  # the reply that holds the action ended at the token limit: its end may be missing
    STEP_LIMIT = "step_limit"
    CALL_LIMIT = "call_limit"
    DEADLINE = "deadline"
    BUDGET = "budget"  # the run's money is spent
    CONTEXT_OVERFLOW = "context_overflow"
    BAD_OUTPUT = "bad_output"  # unusable reply after the bounded repair
    MODEL_ERROR = "model_error"  # endpoint down, refused, or wrong key
    AGENT_ERROR = "agent_error"  # the agent's own code raised
    CANCELLED = "cancelled"

    @property
    def is_infrastructure(self) -> bool:
        """True where the ending says nothing about the agent: left out of the means, counted beside them."""
        return self in {Termination.BUDGET, Termination.MODEL_ERROR, Termination.CANCELLED}


class Engine(StrEnum):
    BM25 = "bm25"
    DENSE = "dense"
    HYBRID = "hybrid"
    DEEP = "deep"


class Stage(StrEnum):
    """Who asks a model, and to which part of a course a step belongs. A stage of somebody else's is OTHER."""

    LOOK_UP = "look_up"
    RETRIEVE = "retrieve"
    THINK = "think"
    ALIGN = "align"
    PLAN = "plan"
    ACT = "act"
    VERIFY = "verify"
    PROFILE = "profile"
    REMIND = "remind"
    REACT = "react"
    JUDGE = "judge"
    AUTHOR = "author"
    OTHER = "other"

    @classmethod
    def _missing_(cls, value: object) -> Stage:
        return cls.OTHER


class StepKind(StrEnum):
    """What a step is: a call of the model, a search, a call of a tool, something that code did, a remark.

    A kind of somebody else's is a remark.
    """

    MODEL = "model"
    SEARCH = "search"
    TOOL = "tool"
    CODE = "code"
    NOTE = "note"

    @classmethod
    def _missing_(cls, value: object) -> StepKind:
        return cls.NOTE


class Polarity(StrEnum):
    FOR = "for"
    AGAINST = "against"


class ConstraintKind(StrEnum):
    TRAIT = "trait"  # long-term
    STATE = "state"  # short-term, ends
    CONDITIONAL = "conditional"  # holds only in its scope


class ConstraintStatus(StrEnum):
    """What alignment decided; every status but ACTIVE has a reason."""

    DRAFT = "draft"
    ACTIVE = "active"
    OVERRIDDEN = "overridden"  # a state wins for now
    SUPERSEDED = "superseded"  # something newer with the same key and scope
    EXPIRED = "expired"
    OUT_OF_SCOPE = "out_of_scope"
    UNRESOLVED = "unresolved"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool in the OpenAI function shape. ``commits`` marks a call that acts.

    A task has one of these or, where two things have to agree, two; no argument is named in both.
    """

    name: str
    description: str
    parameters: JSON  # JSON schema of the arguments
    commits: bool = False


@dataclass(frozen=True, slots=True)
class TaskInput:
    """Everything an agent may know of a task before it searches."""

    task_id: str
    domain: str
    scenario: str  # the scenario's public name
    request: str
    as_of: datetime
    action_kind: ActionKind
    tools: tuple[ToolSpec, ...]  # empty for GENERATE


@dataclass(frozen=True, slots=True)
class Evidence:
    """One event of the history as retrieval returned it. ``event_id`` is opaque and says nothing of gold."""

    event_id: str
    occurred_at: datetime
    channel: str
    text: str
    score: float = 0.0
    aspect: str = ""  # what it was retrieved for, in free words; "" where nothing particular
    support: tuple[str, ...] = ()  # ids of near duplicates folded into this one


@dataclass(frozen=True, slots=True)
class Constraint:
    """One thing that the user has shown, with what shows it."""

    constraint_id: str
    about: str  # the matter, in free words: the same words for rivals; "" where it stands alone
    value: str  # the choice, in a few words; "" where only the text says it
    text: str  # one sentence
    polarity: Polarity = Polarity.FOR
    kind: ConstraintKind = ConstraintKind.TRAIT
    scope: str = ""  # free words such as "at sea", or "not ..."; "" holds everywhere
    valid_from: datetime | None = None
    valid_until: datetime | None = None  # None: open
    strength: float = 0.5  # 0..1
    evidence: tuple[str, ...] = ()  # event ids, never empty once accepted
    counter: str = ""  # what a record would look like that shows the opposite
    status: ConstraintStatus = ConstraintStatus.DRAFT
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    estimated_calls: int = 0  # of them, those whose server sent no counts: tokens at about 4 characters each

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.cost_usd + other.cost_usd,
            self.estimated_calls + other.estimated_calls,
        )


@dataclass(frozen=True, slots=True)
class Cut:
    """What a reply lacks of what the model wrote, or would have written."""

    reasoning_chars: int = 0  # thought aloud and taken out, its marks included
    at_token_limit: bool = False  # the reply ended there, not where the model would have


@dataclass(frozen=True, slots=True)
class UnusableReply:
    """A reply that is empty, cut off or not what the schema asks. ``text``: ``raw`` without its reasoning."""

    raw: str
    text: str
    cut: Cut = Cut()


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the trajectory: what was done in which stage, with data a page can show."""

    stage: Stage
    kind: StepKind
    summary: str  # one sentence for people
    data: JSON = field(default_factory=dict)  # JSON-serialisable detail
    cut: Cut = Cut()  # of the model's reply


@dataclass(frozen=True, slots=True)
class Link:
    """Explanation: one argument or sentence of the action, the constraint behind it, the events behind that."""

    part: Part
    constraint_id: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Action:
    """What the agent did: a text, or the committing calls as they were accepted."""

    kind: ActionKind
    text: str = ""
    tool: str = ""
    arguments: JSON = field(default_factory=dict)  # of all calls
    then: tuple[str, ...] = ()  # tools called after the first
    would_ask: tuple[str, ...] = ()  # arguments left null because a hard constraint stayed unresolved
    at_token_limit: bool = False  # the reply that it was taken from ended there


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The whole course of one agent on one task."""

    termination: Termination
    steps: tuple[Step, ...] = ()
    evidence: tuple[Evidence, ...] = ()  # all that a model saw; within limits.evidence_events
    constraints: tuple[Constraint, ...] = ()  # all drawn, with their status
    plan: tuple[str, ...] = ()  # ids of the constraints that the plan acts on
    action: Action | None = None
    links: tuple[Link, ...] = ()
    usage: Usage = Usage()
    error: str = ""
    format: int = TRAJECTORY_FORMAT


@dataclass(frozen=True, slots=True)
class Limits:
    """One budget for every method, asserted by the runner on what came back."""

    evidence_events: int = 40  # events a model may see, in all
    evidence_tokens: int = 3200  # about 4 characters a token, over the same events
    model_calls: int = 24
    tool_calls: int = 12
    repairs: int = 2
    max_tokens: int = 2400  # per reply
    temperature: float = 0.0
    deadline_s: float = 900.0


@dataclass(frozen=True, slots=True)
class ToolCall:
    call_id: str
    name: str
    arguments: JSON
    at_token_limit: bool = False  # of a reply that ended there; some servers close what is open


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered. ``accepted`` is True only for a committing call that went through."""

    ok: bool
    content: JSON  # {"items": [...]} or {"confirmation": ...} or {"error": ...}
    accepted: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of a model."""

    text: str
    parsed: JSON | None = None  # where a schema was asked for
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    finish_reason: str = "stop"
    replayed: bool = False  # answered from the call store, not bought again
    raw: str = ""  # the model's own words, reasoning included; text is what counts of them
    cut: Cut = Cut()
