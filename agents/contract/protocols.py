"""What an agent is, and what it is handed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, TypedDict, Unpack

from agents.contract.types import (
    JSON,
    Engine,
    Evidence,
    Limits,
    Message,
    Reply,
    Stage,
    TaskInput,
    ToolResult,
    ToolSpec,
    Trajectory,
)


class CallOptions(TypedDict, total=False):
    """What a model call can be given beside its messages; one list for all who pass a call on.

    ``schema``: the reply's ``parsed`` satisfies it. ``temperature`` and ``max_tokens``: the run's where left out.
    """

    schema: JSON | None
    tools: Sequence[ToolSpec]
    temperature: float
    max_tokens: int


class LLM(Protocol):
    """A model as an agent sees it. Which model, endpoint and key it is, the agent does not know."""

    def complete(self, messages: Sequence[Message], *, stage: Stage, **options: Unpack[CallOptions]) -> Reply:
        """One chat completion; ``messages`` are in the OpenAI shape. Raises the LLMError family only."""


class SearchOptions(TypedDict, total=False):
    """``k`` events at most (10 where left out), from the moment ``since`` up to the moment ``until``."""

    k: int
    engine: Engine
    since: datetime | None
    until: datetime | None


class Search(Protocol):
    """The history of the task's persona up to its as-of time."""

    def __call__(self, query: str, **options: Unpack[SearchOptions]) -> tuple[Evidence, ...]:
        """The best events, best first. ``query=""`` returns the newest."""


class CallTool(Protocol):
    def __call__(self, name: str, arguments: JSON) -> ToolResult:
        """Runs one tool of the task. Never raises for bad arguments: the error is in ``content``."""


class Agent(Protocol):
    def __call__(
        self, task: TaskInput, *, llm: LLM, search: Search, call_tool: CallTool, limits: Limits
    ) -> Trajectory: ...
