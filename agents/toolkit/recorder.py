"""A notebook for one run of one agent: what it did so far survives whatever happens next."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self, Unpack

from agents.contract import (
    JSON,
    LLM,
    Action,
    CallLimitReached,
    CallOptions,
    CallTool,
    Constraint,
    Cut,
    Evidence,
    Limits,
    Link,
    LLMError,
    Message,
    Reply,
    Stage,
    Step,
    StepKind,
    Termination,
    ToolCall,
    ToolResult,
    Trajectory,
    Usage,
)


class Interrupted(Exception):
    """The agent stopped in the middle. ``trajectory`` holds what it had done; ``__cause__`` says why."""

    def __init__(self, trajectory: Trajectory) -> None:
        super().__init__("the agent stopped before its end")
        self.trajectory = trajectory


class Recorder:
    """Records model calls and tool calls as steps. It is an ``LLM`` itself, so stages take it as one.

    Used as a context manager: an exception inside leaves as ``Interrupted`` with the steps taken.
    """

    def __init__(self, *, llm: LLM, call_tool: CallTool, limits: Limits) -> None:
        self._llm, self._call_tool, self._limits = llm, call_tool, limits
        self.steps: list[Step] = []
        self.usage = Usage()
        self.evidence: tuple[Evidence, ...] = ()
        self.constraints: tuple[Constraint, ...] = ()
        self.plan: tuple[str, ...] = ()
        self.links: tuple[Link, ...] = ()
        self.action: Action | None = None
        self._tool_calls = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, Exception):
            raise Interrupted(self.trajectory(Termination.AGENT_ERROR)) from error

    def complete(self, messages: Sequence[Message], *, stage: Stage, **options: Unpack[CallOptions]) -> Reply:
        """``LLM.complete`` with the run's temperature and length, recorded, a reply that can't be used too."""
        own: CallOptions = {"temperature": self._limits.temperature, "max_tokens": self._limits.max_tokens}
        own.update(options)
        asked = f"Asked the model ({stage.replace('_', ' ')})"
        try:
            reply = self._llm.complete(messages, stage=stage, **own)
        except LLMError as error:
            if error.replies:
                last = error.replies[-1]
                self._asked(stage, f"{asked}; its reply can't be used.", last.text, (), error.usage, last.cut)
            raise
        self._asked(stage, f"{asked}.", reply.text, reply.tool_calls, reply.usage, reply.cut)
        return reply

    def _asked(
        self, stage: Stage, summary: str, text: str, tool_calls: Sequence[ToolCall], usage: Usage, cut: Cut
    ) -> None:
        self.usage += usage
        calls = [{"name": call.name, "arguments": call.arguments} for call in tool_calls]
        data: JSON = {"reply": text, "tool_calls": calls, "tokens_in": usage.tokens_in}
        self.steps.append(Step(stage, StepKind.MODEL, summary, data, cut))

    def call_tool(self, name: str, arguments: JSON) -> ToolResult:
        """One tool call, recorded; one that worked counts against ``limits.tool_calls``."""
        if self._tool_calls >= self._limits.tool_calls:
            raise CallLimitReached(f"no tool call left of {self._limits.tool_calls}; wanted {name}")
        result = self._call_tool(name, arguments)
        self._tool_calls += result.ok
        self.note(Stage.ACT, StepKind.TOOL, f"Called {name}.", tool=name, arguments=arguments, ok=result.ok,
                  accepted=result.accepted, content=result.content)  # fmt: skip
        return result

    def note(self, stage: Stage, kind: StepKind, summary: str, **data: object) -> None:
        self.steps.append(Step(stage, kind, summary, data))

    def add(self, steps: Sequence[Step]) -> None:
        self.steps.extend(steps)

    def trajectory(self, termination: Termination | None = None) -> Trajectory:
        """What happened so far; without ``termination`` the action says how it ended."""
        return Trajectory(
            termination=termination or _ending(self.action),
            steps=tuple(self.steps),
            evidence=self.evidence,
            constraints=self.constraints,
            plan=self.plan,
            action=self.action,
            links=self.links,
            usage=self.usage,
        )


def _ending(action: Action | None) -> Termination:
    if action is None:
        return Termination.NO_ACTION
    return Termination.CUT_OFF if action.at_token_limit else Termination.COMPLETED
