"""A tool loop: the model searches the history and calls the task's tools as it likes."""

import json

from agents.contract import (
    LLM,
    Action,
    ActionKind,
    CallTool,
    Limits,
    Message,
    Search,
    Stage,
    StepKind,
    TaskInput,
    Termination,
    ToolCall,
    ToolSpec,
    Trajectory,
)
from agents.toolkit.budget import fit
from agents.toolkit.recorder import Recorder
from agents.toolkit.rendering import chat, evidence_lines, task_lines
from agents.toolkit.tool_loop import SUBMIT, assistant_message, tool_message

TURNS = 10
HITS = 6  # events a search shows at most
SEARCH = ToolSpec(
    "search_history",
    "Searches the person's history: messages, purchases, calendar, notes.",
    {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "What to look for"}},
        "required": ["query"],
    },
)


def run(task: TaskInput, *, llm: LLM, search: Search, call_tool: CallTool, limits: Limits) -> Trajectory:
    """Ends with the last committing call, without one when the model stops calling, or at the step limit."""
    tools = (SEARCH, *(task.tools or (SUBMIT,)))
    with Recorder(llm=llm, call_tool=call_tool, limits=limits) as course:
        messages: list[Message] = chat("react/loop", task=task_lines(task))
        for _ in range(TURNS):
            reply = course.complete(messages, stage=Stage.REACT, tools=tools)
            if not reply.tool_calls:
                return course.trajectory()
            messages.append(assistant_message(reply))
            messages.extend(
                tool_message(call, _answer(task, call, course, search, limits)) for call in reply.tool_calls
            )
            if course.action is not None and not _left(task, course.action):
                return course.trajectory()
    return course.trajectory(Termination.STEP_LIMIT)


def _answer(task: TaskInput, call: ToolCall, course: Recorder, search: Search, limits: Limits) -> str:
    """Runs one call and gives the text that the model reads."""
    if call.name == SEARCH.name:
        return _search(str(call.arguments.get("query", "")), course, search, limits)
    if call.name == SUBMIT.name and task.action_kind is ActionKind.GENERATE:
        text = str(call.arguments.get("text", "")).strip()
        written = Action(ActionKind.GENERATE, text=text, at_token_limit=call.at_token_limit)
        course.action = written if text else None
        return json.dumps({"confirmation": "handed over"} if text else {"error": "the text is empty"})
    before = course.action
    if before is not None and call.name in (before.tool, *before.then):
        return json.dumps({"error": "already committed"})
    result = course.call_tool(call.name, call.arguments)
    if result.accepted:
        course.action = Action(
            ActionKind.CALL_API,
            tool=before.tool if before else call.name,
            arguments={**(before.arguments if before else {}), **call.arguments},
            then=(*before.then, call.name) if before else (),
            at_token_limit=call.at_token_limit,
        )
    return json.dumps(result.content, ensure_ascii=False)


def _left(task: TaskInput, done: Action) -> list[str]:
    """The committing tools that were not called yet."""
    return [tool.name for tool in task.tools if tool.commits and tool.name not in (done.tool, *done.then)]


def _search(query: str, course: Recorder, search: Search, limits: Limits) -> str:
    """Hits that are new and within what is left of the budget."""
    known = {item.event_id for item in course.evidence}
    hits = [hit for hit in search(query, k=2 * HITS) if hit.event_id not in known][:HITS]
    kept = fit((*course.evidence, *hits), limits)
    fresh = kept[len(course.evidence) :]
    course.evidence = kept
    course.note(Stage.RETRIEVE, StepKind.SEARCH, f"Searched the history: {len(fresh)} new events.", query=query)
    return f"## Evidence\n{evidence_lines(fresh)}"
