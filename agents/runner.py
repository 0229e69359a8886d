"""Runs one agent on one task: every ending becomes a trajectory, and the budget is checked here for all."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Unpack

from agents.contract import (
    LLM,
    BudgetExceeded,
    CallOptions,
    CallTool,
    Cancelled,
    Evidence,
    Limits,
    LLMError,
    Message,
    Outage,
    Reply,
    Search,
    SearchOptions,
    Stage,
    TaskInput,
    Termination,
    Trajectory,
    Usage,
)
from agents.registry import AgentSpec
from agents.toolkit.budget import evidence_tokens
from agents.toolkit.reasoning import without_reasoning_in_action
from agents.toolkit.recorder import Interrupted
from agents.toolkit.rendering import one_line

HALTS = (Outage, BudgetExceeded, Cancelled)
SHORTEST_CHECKED = 24  # characters; a shorter text may stand in a prompt by chance


class BudgetBroken(AssertionError):
    """An agent showed a model more of the history than it may, or than it reports."""


def run_agent(
    spec: AgentSpec, task: TaskInput, *, llm: LLM, search: Search, call_tool: CallTool, limits: Limits
) -> Trajectory:
    """Never raises for what the agent does: errors are in ``termination`` and ``error``.

    An LLMError gives the termination that it names, anything else AGENT_ERROR with the traceback;
    steps taken so far are kept. A broken budget is an AGENT_ERROR, too, and voids the action.

    Raises Outage where anything that the agent needed was away, whatever the agent made of it.
    """
    watch = _Watch(llm, search)
    try:
        done = spec.function(task, llm=watch, search=watch.search, call_tool=call_tool, limits=limits)
    except Interrupted as stop:
        cause = stop.__cause__ if isinstance(stop.__cause__, Exception) else stop
        done = _ended(stop.trajectory, cause)
    except Exception as error:  # the process edge: an agent may be anybody's code
        done = _ended(Trajectory(Termination.AGENT_ERROR), error)
    if isinstance(watch.halt, Outage):
        raise watch.halt
    if watch.halt is not None:
        done = _ended(done, watch.halt)
    done = _ending_known(without_reasoning_in_action(replace(done, usage=watch.usage)))
    try:
        check_budget(spec, done, limits)
        watch.check_shown(done, task)
    except BudgetBroken as error:
        return replace(done, termination=Termination.AGENT_ERROR, action=None, error=str(error))
    return done


def check_budget(spec: AgentSpec, trajectory: Trajectory, limits: Limits) -> None:
    """Raises BudgetBroken where a method of equal budget reports more evidence than it may have seen."""
    events, tokens = len(trajectory.evidence), evidence_tokens(trajectory.evidence)
    if spec.equal_budget and (events > limits.evidence_events or tokens > limits.evidence_tokens):
        raise BudgetBroken(
            f"{spec.name} used {events} events and {tokens} tokens of evidence; "
            f"allowed are {limits.evidence_events} and {limits.evidence_tokens}"
        )


class _Watch:
    """Sits between the agent and its model and search, and remembers what passed."""

    def __init__(self, llm: LLM, search: Search) -> None:
        self._llm, self._search = llm, search
        self._found: dict[str, str] = {}
        self._prompts: list[str] = []
        self.usage = Usage()
        self.halt: LLMError | None = None  # says nothing about the agent, so an agent may not catch it

    @contextmanager
    def _halting(self) -> Iterator[None]:
        if self.halt is not None:
            raise self.halt
        try:
            yield
        except HALTS as error:
            self.halt = error
            raise

    def complete(self, messages: Sequence[Message], *, stage: Stage, **options: Unpack[CallOptions]) -> Reply:
        try:
            with self._halting():
                reply = self._llm.complete(messages, stage=stage, **options)
        except LLMError as error:
            self.usage += error.usage  # replies that could not be used were paid for
            raise
        # Only a prompt that was read counts: one that overflowed the context was refused unread.
        self._prompts.append("\n".join(_text_of(message) for message in messages if message["role"] != "assistant"))
        self.usage += reply.usage
        return reply

    def search(self, query: str, **options: Unpack[SearchOptions]) -> tuple[Evidence, ...]:
        with self._halting():
            hits = self._search(query, **options)
        self._found.update((hit.event_id, one_line(hit.text)) for hit in hits if hit.event_id not in self._found)
        return hits

    def check_shown(self, trajectory: Trajectory, task: TaskInput) -> None:
        """Raises BudgetBroken where a prompt holds a found text that the trajectory does not report."""
        reported = "\n".join([one_line(task.request), *(one_line(item.text) for item in trajectory.evidence)])
        prompts = "\n".join(self._prompts)
        for event_id, text in self._found.items():
            if len(text) >= SHORTEST_CHECKED and text not in reported and text in prompts:
                raise BudgetBroken(f"event {event_id} was shown to the model but is not in the trajectory's evidence")


def _text_of(message: Message) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _ending_known(done: Trajectory) -> Trajectory:
    """A text that was nothing but reasoning is no action."""
    acted = done.termination in (Termination.COMPLETED, Termination.CUT_OFF)
    return replace(done, termination=Termination.NO_ACTION) if acted and done.action is None else done


def _ended(partial: Trajectory, error: Exception) -> Trajectory:
    if isinstance(error, LLMError):
        return replace(partial, termination=error.termination, error=f"{type(error).__name__}: {error}")
    text = "".join(traceback.format_exception(error))
    return replace(partial, termination=Termination.AGENT_ERROR, error=text)
