"""Common RAG: the request is the query, the hits go into the prompt. ``oracle`` is the same over gold events."""

from agents.contract import LLM, CallTool, Limits, Search, TaskInput, Trajectory
from agents.methods.iba.retrieve import retrieve_plain
from agents.toolkit.acting import Brief, act_once
from agents.toolkit.recorder import Recorder


def run(task: TaskInput, *, llm: LLM, search: Search, call_tool: CallTool, limits: Limits) -> Trajectory:
    """Searches once with the request and acts on what came back."""
    with Recorder(llm=llm, call_tool=call_tool, limits=limits) as course:
        net = retrieve_plain(task, search=search, limits=limits)
        course.evidence = net.evidence
        course.add(net.trace)
        course.action = act_once(task, Brief(net.evidence), llm=course, call_tool=course.call_tool)
    return course.trajectory()
