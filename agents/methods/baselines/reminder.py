"""RAG, then what the hits show is drafted as short points and restated at the end of the prompt."""

from collections.abc import Iterator, Sequence

from agents.contract import JSON, LLM, CallTool, Constraint, Evidence, Limits, Search, Stage, TaskInput, Trajectory
from agents.toolkit.acting import Brief, act_once
from agents.toolkit.recorder import Recorder
from agents.toolkit.rendering import chat, cited_events, evidence_lines, one_line, task_lines
from agents.toolkit.retrieval import retrieve_plainly

MOST_POINTS = 24


def run(task: TaskInput, *, llm: LLM, search: Search, call_tool: CallTool, limits: Limits) -> Trajectory:
    """No conflict is resolved: the points stand as drafted."""
    with Recorder(llm=llm, call_tool=call_tool, limits=limits) as course:
        course.evidence, step = retrieve_plainly(task, search=search, limits=limits)
        course.add([step])
        if course.evidence:
            prompt = chat("reminder/points", task=task_lines(task), evidence=evidence_lines(course.evidence))
            reply = course.complete(prompt, stage=Stage.REMIND, schema=_schema())
            course.constraints = tuple(_points((reply.parsed or {}).get("points", []), course.evidence))
        brief = Brief(course.evidence, course.constraints)
        course.action = act_once(task, brief, llm=course, call_tool=course.call_tool)
        course.plan = tuple(item.constraint_id for item in course.constraints)
    return course.trajectory()


def _points(rows: Sequence[JSON], evidence: Sequence[Evidence]) -> Iterator[Constraint]:
    """A point that says nothing or cites no known line is dropped."""
    number = 0
    for row in rows[:MOST_POINTS]:
        text, cited = one_line(row["text"]), cited_events(row["evidence"], evidence)
        if text and cited:
            number += 1
            yield Constraint(f"c{number}", "", "", text, evidence=tuple(event.event_id for event in cited))


def _schema() -> JSON:
    text: JSON = {"type": "string"}
    row: JSON = {
        "type": "object",
        "properties": {"text": text, "evidence": {"type": "array", "items": text}},
        "required": ["text", "evidence"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"points": {"type": "array", "items": row, "maxItems": MOST_POINTS}},
        "required": ["points"],
        "additionalProperties": False,
    }
