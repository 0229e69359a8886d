"""Stage 4 with native function calling: the model calls the tools; a committing call is checked before it goes out."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from agents.contract import (
    JSON,
    LLM,
    Action,
    ActionKind,
    CallTool,
    Evidence,
    Limits,
    Message,
    Stage,
    Step,
    StepKind,
    TaskInput,
    ToolCall,
    ToolResult,
)
from agents.methods.iba.act import Done, brief_for, plan, would_ask
from agents.methods.iba.stages import Alignment
from agents.methods.iba.verify import Verified, failures, links, verify
from agents.toolkit import arguments as args
from agents.toolkit.acting import ITEMS_SHOWN, Brief, Draft, collect, early_sections, late_sections
from agents.toolkit.rendering import bullets, chat, item_lines, render, task_lines
from agents.toolkit.tool_loop import SUBMIT, assistant_message, tool_message

TURNS = 8


@dataclass
class _Talk:
    """The conversation so far and what it brought."""

    messages: list[Message]
    items: dict[str, JSON] = field(default_factory=dict)
    best: Verified | None = None
    refusals: int = 0
    steps: list[Step] = field(default_factory=list)


def act_by_calls(
    task: TaskInput,
    alignment: Alignment,
    evidence: tuple[Evidence, ...],
    items: tuple[JSON, ...],
    *,
    llm: LLM,
    call_tool: CallTool,
    limits: Limits,
) -> Done:
    """Plan, then turns of tool calls until the committing call passed its checks or the repairs are used up."""
    planned = plan(task, alignment.active, llm=llm)
    brief = brief_for(planned, alignment, evidence)
    early, late = early_sections(brief), late_sections(brief)
    shown = item_lines(items[:ITEMS_SHOWN])
    talk = _Talk(chat("iba/call", task=task_lines(task), early=early, items=shown, late=late))
    collect(talk.items, ToolResult(True, {"items": list(items)}))
    action: Action | None = None
    for _ in range(TURNS):
        reply = llm.complete(talk.messages, stage=Stage.ACT, tools=task.tools or (SUBMIT,))
        if not reply.tool_calls:
            break
        talk.messages.append(assistant_message(reply))
        for call in reply.tool_calls:
            action = action or _handle(task, call, talk, brief, llm=llm, call_tool=call_tool, limits=limits)
        if action is not None:
            break
    found = links(talk.best, brief.constraints) if action and talk.best else ()
    return Done(action, planned.constraints, found, tuple(talk.steps))


def _handle(
    task: TaskInput, call: ToolCall, talk: _Talk, brief: Brief, *, llm: LLM, call_tool: CallTool, limits: Limits
) -> Action | None:
    """Answers one call. The action, where it was the committing one and went through."""
    tool = next((tool for tool in task.tools or (SUBMIT,) if tool.name == call.name), None)
    if tool is None:
        talk.messages.append(tool_message(call, json.dumps({"error": f"there is no tool {call.name!r}"})))
        return None
    if not tool.commits:
        result = call_tool(call.name, call.arguments)
        collect(talk.items, result)
        talk.messages.append(tool_message(call, json.dumps(result.content, ensure_ascii=False)))
        return None
    verified = verify(task, _draft(task, call, talk), brief, llm=llm)
    repeated = talk.best is not None and talk.best.draft == verified.draft
    done = _better(verified, talk)
    if done.faults != (0, 0) and talk.refusals < limits.repairs and not repeated:
        talk.refusals += 1
        failed = bullets(failures(verified, brief.constraints))
        talk.messages.append(tool_message(call, render("iba/not_yet", failed=failed)))
        return None
    return _commit(task, call, done, talk, brief, call_tool=call_tool)


def _draft(task: TaskInput, call: ToolCall, talk: _Talk) -> Draft:
    if task.action_kind is ActionKind.GENERATE:
        return Draft(text=str(call.arguments.get("text", "")).strip(), at_token_limit=call.at_token_limit)
    cleaned = args.cleaned(call.arguments, args.committing_tool(task))
    return Draft(arguments=cleaned, items=tuple(talk.items.values()), at_token_limit=call.at_token_limit)


def _better(verified: Verified, talk: _Talk) -> Verified:
    """Remembers the better draft and returns it."""
    if talk.best is None or verified.faults < talk.best.faults:
        talk.best = verified
    talk.steps.append(Step(Stage.VERIFY, StepKind.CODE, "Checked a call before it went out.",
                           {"problems": list(verified.problems), "unmet": list(verified.unmet)}))  # fmt: skip
    return talk.best


def _commit(
    task: TaskInput, call: ToolCall, done: Verified, talk: _Talk, brief: Brief, *, call_tool: CallTool
) -> Action | None:
    limited = done.draft.at_token_limit
    if done.draft.arguments is None:
        text = done.draft.text
        return Action(ActionKind.GENERATE, text=text, at_token_limit=limited) if text else None
    result = call_tool(call.name, done.draft.arguments)
    talk.messages.append(tool_message(call, json.dumps(result.content, ensure_ascii=False)))
    if not result.accepted:
        talk.best = None
        return None
    asked = would_ask(task, done.draft, brief)
    arguments = done.draft.arguments
    return Action(ActionKind.CALL_API, tool=call.name, arguments=arguments, would_ask=asked, at_token_limit=limited)
