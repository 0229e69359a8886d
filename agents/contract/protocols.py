"""What an agent is, and what it is handed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from agents.contract.types import JSON, Engine, Evidence, Limits, Reply, TaskInput, ToolResult, ToolSpec, Trajectory


class LLM(Protocol):
    """A model as an agent sees it. Which model, endpoint and key it is, the agent does not know."""

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        stage: str,
        schema: JSON | None = None,
        tools: Sequence[ToolSpec] = (),
        temperature: float = 0.0,
        max_tokens: int = 900,
    ) -> Reply:
        """One chat completion.

        ``messages`` are in the OpenAI shape. With ``schema`` the reply's
        ``parsed`` satisfies it. ``stage`` names the caller for cost tables.
        Raises the LLMError family only.
        """


class Search(Protocol):
    """The history of the task's persona up to its as-of time."""

    def __call__(
        self,
        query: str,
        *,
        k: int = 10,
        engine: Engine = Engine.HYBRID,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> tuple[Evidence, ...]:
        """The ``k`` best events, best first. ``query=""`` returns the newest ``k``."""


class CallTool(Protocol):
    def __call__(self, name: str, arguments: JSON) -> ToolResult:
        """Runs one tool of the task. Never raises for bad arguments: the error is in ``content``."""


class Agent(Protocol):
    def __call__(
        self, task: TaskInput, *, llm: LLM, search: Search, call_tool: CallTool, limits: Limits
    ) -> Trajectory: ...
