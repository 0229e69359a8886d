"""What passes between the benchmark and an agent.

An agent is a function::

    def agent(task, *, llm, search, call_tool, limits) -> Trajectory

It gets the request, the moment, the tools, a search and a model: no list of what
could matter, and no gold (no cue labels, no checkpoints, no true preferences).
Events after ``task.as_of`` are never returned by ``search``.
All times are aware datetimes in UTC and read as the persona's local clock.
"""

from agents.contract.errors import (
    AuthenticationFailed,
    BadReply,
    BudgetExceeded,
    CallLimitReached,
    Cancelled,
    ContextOverflow,
    DeadlinePassed,
    EndpointAway,
    EndpointBusy,
    LLMError,
    ModelUnavailable,
    Outage,
    SearchUnavailable,
    ServiceAway,
    endpoint_label,
)
from agents.contract.parts import Part, PartKind
from agents.contract.protocols import LLM, Agent, CallOptions, CallTool, Search, SearchOptions
from agents.contract.types import (
    JSON,
    TRAJECTORY_FORMAT,
    Action,
    ActionKind,
    Constraint,
    ConstraintKind,
    ConstraintStatus,
    Cut,
    Engine,
    Evidence,
    Limits,
    Link,
    Message,
    Polarity,
    Reply,
    Stage,
    Step,
    StepKind,
    TaskInput,
    Termination,
    ToolCall,
    ToolResult,
    ToolSpec,
    Trajectory,
    Usage,
)

__all__ = [
    "JSON",
    "LLM",
    "TRAJECTORY_FORMAT",
    "Action",
    "ActionKind",
    "Agent",
    "AuthenticationFailed",
    "BadReply",
    "BudgetExceeded",
    "CallLimitReached",
    "CallOptions",
    "CallTool",
    "Cancelled",
    "Constraint",
    "ConstraintKind",
    "ConstraintStatus",
    "ContextOverflow",
    "Cut",
    "DeadlinePassed",
    "EndpointAway",
    "EndpointBusy",
    "Engine",
    "Evidence",
    "LLMError",
    "Limits",
    "Link",
    "Message",
    "ModelUnavailable",
    "Outage",
    "Part",
    "PartKind",
    "Polarity",
    "Reply",
    "Search",
    "SearchOptions",
    "SearchUnavailable",
    "ServiceAway",
    "Stage",
    "Step",
    "StepKind",
    "TaskInput",
    "Termination",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "Trajectory",
    "Usage",
    "endpoint_label",
]
