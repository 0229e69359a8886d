"""Which agents there are. A new one is one file and one line here, or an entry point of another package."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import entry_points

from agents.contract import LLM, Agent, CallTool, Limits, Search, TaskInput, Trajectory
from agents.methods.baselines import full_history, no_history, profile, rag, react, recency, reminder
from agents.methods.iba import agent as iba
from agents.methods.iba.agent import Parts

ENTRY_POINTS = "iba_bench.agents"
EXTERNAL = "external-"  # methods that run elsewhere and come in over the HTTP API
_EXTERNAL_NAME = re.compile(r"[a-z0-9_]{2,28}")


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """One method. ``uses_gold`` marks the oracle: IBA's line over a search that knows the gold events; never ranked."""

    name: str
    function: Agent
    label: str
    equal_budget: bool = True
    uses_gold: bool = False
    ablations: tuple[str, ...] = ()
    ablation: str = ""  # the part that this one lacks


_WITHOUT = {
    "deep_retrieval": Parts(deep_retrieval=False),
    "broad_thinking": Parts(broad_thinking=False),
    "synthesis": Parts(synthesis=False),
}

AGENTS: Mapping[str, AgentSpec] = {
    spec.name: spec
    for spec in (
        AgentSpec("iba", iba.run, "IBA-Agent", ablations=tuple(_WITHOUT)),
        AgentSpec("iba_fc", partial(iba.run, parts=Parts(native_calls=True)), "IBA-Agent, function calling"),
        AgentSpec("rag", rag.run, "RAG"),
        AgentSpec("recency", recency.run, "Newest events"),
        AgentSpec("full_history", full_history.run, "Full history", equal_budget=False),
        AgentSpec("no_history", no_history.run, "No history"),
        AgentSpec("profile", profile.run, "Static profile"),
        AgentSpec("react", react.run, "ReAct with search"),
        AgentSpec("reminder", reminder.run, "RAG with reminder"),
        AgentSpec(
            "oracle", partial(iba.run, parts=Parts(deep_retrieval=False)), "Oracle (gold events)", uses_gold=True
        ),
    )
}


def resolve(method: str) -> AgentSpec:
    """The agent of that name, an ablation ``iba-<part>``, or an entry point. Raises ValueError for another name."""
    if method in AGENTS:
        return AGENTS[method]
    name, _, part = method.partition("-")
    if name == "iba" and part in _WITHOUT:
        function = partial(iba.run, parts=_WITHOUT[part])
        return replace(
            AGENTS["iba"], name=method, function=function, label=f"IBA-Agent without {part.replace('_', ' ')}",
            ablations=(), ablation=part,
        )  # fmt: skip
    if method.startswith(EXTERNAL):
        if not _EXTERNAL_NAME.fullmatch(method.removeprefix(EXTERNAL)):
            raise ValueError(
                f"method {method[:60]!r}: after {EXTERNAL!r} use 2 to 28 small letters (a to z), digits and _"
            )
        return AgentSpec(method, _runs_elsewhere, method.removeprefix(EXTERNAL))
    for entry in entry_points(group=ENTRY_POINTS):
        if entry.name == method:
            return AgentSpec(method, entry.load(), method)
    raise ValueError(f"unknown method {method!r}; allowed are {', '.join(method_names())}")


def _runs_elsewhere(task: TaskInput, *, llm: LLM, search: Search, call_tool: CallTool, limits: Limits) -> Trajectory:
    raise TypeError("an external agent acts over the HTTP API; it is not called here")


def method_names() -> tuple[str, ...]:
    """All names that ``resolve`` takes."""
    ablations = [f"iba-{part}" for part in _WITHOUT]
    return (*AGENTS, *ablations, *sorted(entry.name for entry in entry_points(group=ENTRY_POINTS)))
