"""Stage 4 with native function calling: the model calls the tools; a committing call is checked before it goes out."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

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
    ToolSpec,
)
from agents.methods.iba.act import Done, brief_for, plan, would_ask
from agents.methods.iba.stages import Alignment
from agents.methods.iba.verify import Verified, failures, links, verify
from agents.toolkit import arguments as args
from agents.toolkit.acting import (
    ITEMS_SHOWN,
    Brief,
    Draft,
    NotAccepted,
    collect,
    commit,
    early_sections,
    late_sections,
)
from agents.toolkit.rendering import bullets, chat, item_lines, render, task_lines
from agents.toolkit.tool_loop import SUBMIT, assistant_message, tool_message

TURNS = 8


@dataclass
class _Talk:
    """The conversation so far and what it brought. ``made``: what went through, ``action`` the same as an action."""

    messages: list[Message]
    made: Draft = field(default_factory=lambda: Draft(arguments={}))
    action: Action | None = None
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
    """Plan, then turns of tool calls until the committing calls passed their checks or the repairs are used up."""
    planned = plan(task, alignment.active, llm=llm)
    brief = brief_for(planned, alignment, evidence)
    early, late = early_sections(brief), late_sections(brief)
    shown = item_lines(items[:ITEMS_SHOWN])
    talk = _Talk(chat("iba/call", task=task_lines(task), early=early, items=shown, late=late))
    collect(talk.items, ToolResult(True, {"items": list(items)}))
    done = False
    for _ in range(TURNS):
        reply = llm.complete(talk.messages, stage=Stage.ACT, tools=task.tools or (SUBMIT,))
        if not reply.tool_calls:
            break
        talk.messages.append(assistant_message(reply))
        for call in reply.tool_calls:
            done = done or _handle(task, call, talk, brief, llm=llm, call_tool=call_tool, limits=limits)
        if done:
            break
    found = links(talk.best, brief.constraints) if talk.action and talk.best else ()
    return Done(talk.action, planned.constraints, found, tuple(talk.steps))


def _handle(
    task: TaskInput, call: ToolCall, talk: _Talk, brief: Brief, *, llm: LLM, call_tool: CallTool, limits: Limits
) -> bool:
    """Answers one call. Whether all is done with it."""
    tool = next((tool for tool in task.tools or (SUBMIT,) if tool.name == call.name), None)
    if tool is None or call.name in talk.made.made:
        fault = f"there is no tool {call.name!r}" if tool is None else f"{call.name!r} went through already"
        talk.messages.append(tool_message(call, json.dumps({"error": fault})))
        return False
    if not tool.commits:
        result = call_tool(call.name, call.arguments)
        collect(talk.items, result)
        talk.messages.append(tool_message(call, json.dumps(result.content, ensure_ascii=False)))
        return False
    verified = verify(task, _draft(task, call, tool, talk), brief, llm=llm)
    repeated = talk.best is not None and talk.best.draft == verified.draft
    done = _better(verified, talk)
    if done.faults != (0, 0) and talk.refusals < limits.repairs and not repeated:
        talk.refusals += 1
        failed = bullets(failures(verified, brief.constraints))
        talk.messages.append(tool_message(call, render("iba/not_yet", failed=failed)))
        return False
    return _commit(task, call, done, talk, brief, call_tool=call_tool)


def _draft(task: TaskInput, call: ToolCall, tool: ToolSpec, talk: _Talk) -> Draft:
    """What went through before, and this call."""
    if task.action_kind is ActionKind.GENERATE:
        return Draft(text=str(call.arguments.get("text", "")).strip(), at_token_limit=call.at_token_limit)
    return Draft(
        arguments={**(talk.made.arguments or {}), **args.cleaned(call.arguments, tool)},
        items=tuple(talk.items.values()),
        at_token_limit=call.at_token_limit,
        made=talk.made.made,
        tools=(*talk.made.made, call.name),
    )


def _better(verified: Verified, talk: _Talk) -> Verified:
    """Remembers the better draft of a call and returns it."""
    if talk.best is None or talk.best.draft.tools != verified.draft.tools or verified.faults < talk.best.faults:
        talk.best = verified
    talk.steps.append(Step(Stage.VERIFY, StepKind.CODE, "Checked a call before it went out.",
                           {"problems": list(verified.problems), "unmet": list(verified.unmet)}))  # fmt: skip
    return talk.best


def _commit(task: TaskInput, call: ToolCall, done: Verified, talk: _Talk, brief: Brief, *, call_tool: CallTool) -> bool:
    outcome = commit(task, done.draft, call_tool=call_tool, would_ask=would_ask(task, done.draft, brief))
    if isinstance(outcome, NotAccepted):
        talk.messages.append(tool_message(call, json.dumps({"error": outcome.error}, ensure_ascii=False)))
        talk.best = None
        return False
    talk.action = outcome
    if task.action_kind is ActionKind.GENERATE:
        return True
    talk.made = replace(done.draft, made=done.draft.tools)
    left = [tool.name for tool in args.committing_tools(task) if tool.name not in talk.made.made]
    if left:
        talk.messages.append(tool_message(call, json.dumps({"confirmation": f"{call.name} done", "next": left})))
        talk.best = None
    return not left
