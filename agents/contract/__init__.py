"""What passes between the benchmark and an agent.

An agent is a function::

    def agent(task, *, llm, search, call_tool, limits) -> Trajectory

It receives no gold: no cue labels, no gold evidence, no checkpoints, no true
preferences. Events after ``task.as_of`` are never returned by ``search``.
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
from agents.contract.protocols import LLM, Agent, CallTool, Search
from agents.contract.types import (
    JSON,
    TRAJECTORY_FORMAT,
    Action,
    ActionKind,
    Constraint,
    ConstraintKind,
    ConstraintStatus,
    Engine,
    Evidence,
    Limits,
    Link,
    Option,
    Polarity,
    Reply,
    Step,
    TaskInput,
    Termination,
    ToolCall,
    ToolResult,
    ToolSpec,
    Topic,
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
    "CallTool",
    "Cancelled",
    "Constraint",
    "ConstraintKind",
    "ConstraintStatus",
    "ContextOverflow",
    "DeadlinePassed",
    "EndpointAway",
    "EndpointBusy",
    "Engine",
    "Evidence",
    "LLMError",
    "Limits",
    "Link",
    "ModelUnavailable",
    "Option",
    "Outage",
    "Polarity",
    "Reply",
    "Search",
    "SearchUnavailable",
    "ServiceAway",
    "Step",
    "TaskInput",
    "Termination",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "Topic",
    "Trajectory",
    "Usage",
    "endpoint_label",
]
