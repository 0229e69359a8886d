"""The whole history, as much as the context holds. It has no evidence budget, so it is marked as unequal."""

from dataclasses import replace

from agents.contract import LLM, CallTool, ContextOverflow, Limits, Search, Stage, StepKind, TaskInput, Trajectory
from agents.toolkit.acting import Brief, act_once
from agents.toolkit.budget import evidence_tokens, fit
from agents.toolkit.recorder import Recorder
from agents.toolkit.retrieval import by_time

MOST_EVENTS = 5000
MOST_TOKENS = 24_000
SMALLEST = 100  # tokens; a context that does not hold this much is not filled any further


def run(task: TaskInput, *, llm: LLM, search: Search, call_tool: CallTool, limits: Limits) -> Trajectory:
    """Oldest to newest. Where the context is too short, the oldest half goes and it tries again."""
    with Recorder(llm=llm, call_tool=call_tool, limits=limits) as course:
        newest = search("", k=MOST_EVENTS)
        tokens = MOST_TOKENS
        while course.action is None:
            room = replace(limits, evidence_events=MOST_EVENTS, evidence_tokens=tokens)
            course.evidence = by_time(fit(newest, room))
            course.note(
                Stage.RETRIEVE, StepKind.SEARCH, f"Took {len(course.evidence)} of {len(newest)} events.", tokens=tokens
            )
            try:
                course.action = act_once(task, Brief(course.evidence), llm=course, call_tool=course.call_tool)
                break
            except ContextOverflow:
                if tokens <= SMALLEST:
                    raise
                tokens = min(tokens, evidence_tokens(course.evidence)) // 2
    return course.trajectory()
