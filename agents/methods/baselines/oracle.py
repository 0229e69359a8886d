"""Told which events matter: how well the rest of ``iba`` does with perfect retrieval. Marked, never ranked."""

from agents.contract import LLM, CallTool, Limits, Search, TaskInput, Trajectory
from agents.methods.iba.agent import Parts
from agents.methods.iba.agent import run as run_iba


def run(task: TaskInput, *, llm: LLM, search: Search, call_tool: CallTool, limits: Limits) -> Trajectory:
    """``search`` is the runner's search over the gold events only; one query returns them all."""
    parts = Parts(deep_retrieval=False)
    return run_iba(task, llm=llm, search=search, call_tool=call_tool, limits=limits, parts=parts)
