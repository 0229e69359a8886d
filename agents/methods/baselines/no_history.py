"""No history at all: what the request alone brings."""

from agents.contract import LLM, CallTool, Limits, Search, TaskInput, Trajectory
from agents.toolkit.acting import Brief, act_once
from agents.toolkit.recorder import Recorder


def run(task: TaskInput, *, llm: LLM, search: Search, call_tool: CallTool, limits: Limits) -> Trajectory:
    """Acts on the request; never searches."""
    with Recorder(llm=llm, call_tool=call_tool, limits=limits) as course:
        course.action = act_once(task, Brief(), llm=course, call_tool=course.call_tool)
    return course.trajectory()
