"""Common RAG: the request is the query, the hits go into the prompt."""

from agents.contract import LLM, CallTool, Limits, Search, TaskInput, Trajectory
from agents.toolkit.acting import Brief, act_once
from agents.toolkit.recorder import Recorder
from agents.toolkit.retrieval import retrieve_plainly


def run(task: TaskInput, *, llm: LLM, search: Search, call_tool: CallTool, limits: Limits) -> Trajectory:
    """Searches once with the request and acts on what came back."""
    with Recorder(llm=llm, call_tool=call_tool, limits=limits) as course:
        course.evidence, step = retrieve_plainly(task, search=search, limits=limits)
        course.add([step])
        course.action = act_once(task, Brief(course.evidence), llm=course, call_tool=course.call_tool)
    return course.trajectory()
