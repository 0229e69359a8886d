"""A static profile: one summary of the person, made without the request, then the action."""

from agents.contract import LLM, CallTool, Evidence, Limits, Search, Stage, StepKind, TaskInput, Trajectory
from agents.toolkit.acting import Brief, act_once
from agents.toolkit.budget import fit
from agents.toolkit.recorder import Recorder
from agents.toolkit.rendering import chat, evidence_lines, now_line
from agents.toolkit.retrieval import by_time


def run(task: TaskInput, *, llm: LLM, search: Search, call_tool: CallTool, limits: Limits) -> Trajectory:
    """Summarises a spread of the history on the task's domain, then acts on the summary alone."""
    with Recorder(llm=llm, call_tool=call_tool, limits=limits) as course:
        course.evidence = _spread(task, search, limits)
        course.note(Stage.RETRIEVE, StepKind.SEARCH, f"Took a spread of {len(course.evidence)} events.")
        prompt = chat("profile/summary", now=now_line(task.as_of), evidence=evidence_lines(course.evidence))
        summary = course.complete(prompt, stage=Stage.PROFILE).text
        brief = Brief(profile=summary)
        course.action = act_once(task, brief, llm=course, call_tool=course.call_tool)
    return course.trajectory()


def _spread(task: TaskInput, search: Search, limits: Limits) -> tuple[Evidence, ...]:
    """Half by the domain's name, which every request of the domain shares; half the newest."""
    half = limits.evidence_events // 2
    about = search(task.domain, k=half)
    return by_time(fit((*about, *search("", k=limits.evidence_events)), limits))
