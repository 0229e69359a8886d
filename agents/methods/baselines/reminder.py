"""RAG, then what the hits show is drafted as short points and restated at the end of the prompt."""

from agents.contract import JSON, LLM, CallTool, Limits, Search, TaskInput, Trajectory
from agents.methods.iba.retrieve import retrieve_plain
from agents.methods.iba.think import accept
from agents.toolkit.acting import Brief, act_once
from agents.toolkit.recorder import Recorder
from agents.toolkit.rendering import chat, evidence_lines, task_values, topic_lines


def run(task: TaskInput, *, llm: LLM, search: Search, call_tool: CallTool, limits: Limits) -> Trajectory:
    """No conflict is resolved: the points stand as drafted."""
    with Recorder(llm=llm, call_tool=call_tool, limits=limits) as course:
        net = retrieve_plain(task, search=search, limits=limits)
        course.evidence = net.evidence
        course.add(net.trace)
        if net.evidence:
            topics = [topic for topic in task.vocabulary if topic.slug.startswith(f"{task.domain}.")]
            prompt = chat(
                "reminder/constraints",
                **task_values(task),
                topics=topic_lines(topics, options=False),
                evidence=evidence_lines(net.evidence),
            )
            reply = course.complete(prompt, stage="remind", schema=_schema())
            course.constraints = accept((reply.parsed or {}).get("constraints", []), net.evidence, task.vocabulary)
        brief = Brief(course.evidence, course.constraints)
        course.action = act_once(task, brief, llm=course, call_tool=course.call_tool)
        course.plan = tuple(item.constraint_id for item in course.constraints)
    return course.trajectory()


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
        "properties": {"constraints": {"type": "array", "items": row}},
        "required": ["constraints"],
        "additionalProperties": False,
    }
