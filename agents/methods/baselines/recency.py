"""The newest events, whatever they say."""

from agents.contract import LLM, CallTool, Limits, Search, Stage, StepKind, TaskInput, Trajectory
from agents.toolkit.acting import Brief, act_once
from agents.toolkit.budget import fit
from agents.toolkit.recorder import Recorder
from agents.toolkit.retrieval import by_time


def run(task: TaskInput, *, llm: LLM, search: Search, call_tool: CallTool, limits: Limits) -> Trajectory:
    """Acts on the newest events that the budget allows."""
    with Recorder(llm=llm, call_tool=call_tool, limits=limits) as course:
        newest = fit(search("", k=limits.evidence_events), limits)
        course.evidence = by_time(newest)
        course.note(Stage.RETRIEVE, StepKind.SEARCH, f"Took the newest {len(newest)} events.")
        course.action = act_once(task, Brief(course.evidence), llm=course, call_tool=course.call_tool)
    return course.trajectory()
