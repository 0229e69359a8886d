"""The part that acts, shared by ``iba`` and the baselines, so that all of them differ only in what they know."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.contract import (
    JSON,
    LLM,
    Action,
    ActionKind,
    CallTool,
    Constraint,
    Evidence,
    Stage,
    TaskInput,
    ToolResult,
    ToolSpec,
)
from agents.toolkit import arguments as args
from agents.toolkit.rendering import (
    bullets,
    chat,
    constraint_lines,
    evidence_lines,
    item_lines,
    quoted,
    section,
    task_lines,
    tool_lines,
)

LOOKUP_ROUNDS = 2
ITEMS_SHOWN = 30


@dataclass(frozen=True, slots=True)
class Brief:
    """What the acting part is given beside the task. ``restate_last`` puts the constraints at the prompt's end."""

    evidence: tuple[Evidence, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    unresolved: tuple[Constraint, ...] = ()
    profile: str = ""
    restate_last: bool = True


@dataclass(frozen=True, slots=True)
class Draft:
    """What would be committed: a text, or arguments for the committing tools."""

    text: str = ""
    arguments: JSON | None = None
    items: tuple[JSON, ...] = ()  # what the look-ups found
    at_token_limit: bool = False  # the reply that it was taken from ended there
    made: tuple[str, ...] = ()  # tools that accepted their arguments already
    tools: tuple[str, ...] = ()  # tools that it calls; empty: all


@dataclass(frozen=True, slots=True)
class NotAccepted:
    """A committing call that was not accepted. ``draft`` and ``action`` hold what earlier ones made of it."""

    error: str
    draft: Draft
    action: Action | None = None


def early_sections(brief: Brief) -> str:
    parts = [section("Profile", quoted(brief.profile) if brief.profile else "")]
    if not brief.restate_last:
        parts.append(_constraint_sections(brief))
    parts.append(section("Evidence", evidence_lines(brief.evidence)))
    return "\n".join(part for part in parts if part)


def late_sections(brief: Brief, *, draft: str = "", failed: Sequence[str] = ()) -> str:
    parts = [section("Draft", quoted(draft) if draft else ""), section("Failed checks", bullets(failed))]
    if brief.restate_last:
        parts.append(_constraint_sections(brief))
    return "\n".join(part for part in parts if part)


def _constraint_sections(brief: Brief) -> str:
    return section("Unresolved", constraint_lines(brief.unresolved)) + section(
        "Constraints", constraint_lines(brief.constraints)
    )


def look_up(task: TaskInput, *, llm: LLM, call_tool: CallTool) -> tuple[JSON, ...]:
    """The items that the model's look-ups found, without repeats, in the order found."""
    items: dict[str, JSON] = {}
    asked: dict[str, str] = {}  # call -> what it found
    for _ in range(LOOKUP_ROUNDS):
        reply = llm.complete(
            chat(
                "act/lookups",
                task=task_lines(task),
                tools=tool_lines(args.read_only_tools(task)),
                calls=bullets(list(asked.values())),
                items=item_lines(list(items.values())[:ITEMS_SHOWN]),
            ),
            stage=Stage.LOOK_UP,
            schema=_lookup_schema(task),
        )
        fresh = [call for call in (reply.parsed or {}).get("calls", []) if _key(call) not in asked]
        if not fresh:
            break
        for call in fresh[:3]:
            result = call_tool(call["tool"], call["arguments"])
            found = result.content.get("error") or f"{len(result.content.get('items', []))} items"
            asked[_key(call)] = f"{_key(call)}: {found}"
            collect(items, result)
    return tuple(items.values())


def collect(items: dict[str, JSON], result: ToolResult) -> None:
    """Adds the items of a look-up's answer, by id; a later answer about the same item adds its fields."""
    for item in result.content.get("items", []):
        key = str(item.get("id", json.dumps(item, sort_keys=True)))
        items[key] = {**items.get(key, {}), **item}


def _key(call: JSON) -> str:
    return json.dumps({"tool": call["tool"], "arguments": call["arguments"]}, sort_keys=True, ensure_ascii=False)


def _lookup_schema(task: TaskInput) -> JSON:
    names = [tool.name for tool in args.read_only_tools(task)]
    call = {
        "type": "object",
        "properties": {"tool": {"type": "string", "enum": names}, "arguments": {"type": "object"}},
        "required": ["tool", "arguments"],
    }
    return {
        "type": "object",
        "properties": {"calls": {"type": "array", "items": call, "maxItems": 3}},
        "required": ["calls"],
    }


def draft(
    task: TaskInput, brief: Brief, *, llm: LLM, items: tuple[JSON, ...] = (), before: Draft | None = None,
    failed: Sequence[str] = (),
) -> Draft:  # fmt: skip
    """One draft; with ``before`` and ``failed`` it is a repair of that draft."""
    shown = describe(task, before) if before is not None else ""
    late = late_sections(brief, draft=shown, failed=failed)
    if task.action_kind is ActionKind.GENERATE:
        reply = llm.complete(
            chat("act/text", task=task_lines(task), early=early_sections(brief), late=late), stage=Stage.ACT
        )
        return Draft(text=reply.text.strip(), at_token_limit=reply.cut.at_token_limit)
    made = before.made if before is not None else ()
    tools = [tool for tool in args.committing_tools(task) if tool.name not in made]
    whole = args.as_one(tools)
    reply = llm.complete(
        chat(
            "act/arguments",
            task=task_lines(task),
            early=early_sections(brief),
            tools=tool_lines(tools),
            items=item_lines(items[:ITEMS_SHOWN]),
            late=late,
        ),
        stage=Stage.ACT,
        schema=args.wrapped(whole),
    )
    cleaned = args.cleaned((reply.parsed or {}).get("arguments", {}), whole)
    kept = arguments_made(task, before) if before is not None else {}
    return Draft(arguments={**kept, **cleaned}, items=items, at_token_limit=reply.cut.at_token_limit, made=made)


def arguments_made(task: TaskInput, done: Draft) -> JSON:
    """The arguments of the calls that went through."""
    through = [tool for tool in args.committing_tools(task) if tool.name in done.made]
    return args.cleaned(done.arguments or {}, args.as_one(through)) if through else {}


def describe(task: TaskInput, done: Draft) -> str:
    """A draft as text: the text itself, or the call in words."""
    if done.arguments is None:
        return done.text
    return args.described(done.arguments, called(task, done), done.items)


def called(task: TaskInput, done: Draft) -> tuple[ToolSpec, ...]:
    """The committing tools that a draft calls."""
    return tuple(tool for tool in args.committing_tools(task) if not done.tools or tool.name in done.tools)


def commit(
    task: TaskInput, done: Draft, *, call_tool: CallTool, would_ask: tuple[str, ...] = ()
) -> Action | NotAccepted:
    """Makes the committing calls that are left, in their order, or hands over the text. The first refusal ends it."""
    if done.arguments is None:
        if not done.text:
            return NotAccepted("the text is empty", done)
        return Action(ActionKind.GENERATE, text=done.text, at_token_limit=done.at_token_limit)
    for tool in called(task, done):
        if tool.name in done.made:
            continue
        result = call_tool(tool.name, args.cleaned(done.arguments, tool))
        if not result.accepted:
            error = str(result.content.get("error", "the call was not accepted"))
            return NotAccepted(error, done, action_of(task, done, would_ask) if done.made else None)
        done = replace(done, made=(*done.made, tool.name))
    return action_of(task, done, would_ask)


def action_of(task: TaskInput, done: Draft, would_ask: tuple[str, ...] = ()) -> Action:
    """The calls that went through."""
    first, *then = done.made
    return Action(
        ActionKind.CALL_API,
        tool=first,
        arguments=arguments_made(task, done),
        then=tuple(then),
        would_ask=would_ask,
        at_token_limit=done.at_token_limit,
    )


def act_once(task: TaskInput, brief: Brief, *, llm: LLM, call_tool: CallTool) -> Action | None:
    """Look-ups, one draft, commit; a refused call is repaired once. None where nothing was accepted."""
    items = look_up(task, llm=llm, call_tool=call_tool) if task.action_kind is ActionKind.CALL_API else ()
    done = draft(task, brief, llm=llm, items=items)
    outcome = commit(task, done, call_tool=call_tool)
    if isinstance(outcome, NotAccepted):
        done = draft(task, brief, llm=llm, items=items, before=outcome.draft, failed=[outcome.error])
        outcome = commit(task, done, call_tool=call_tool)
    return outcome if isinstance(outcome, Action) else outcome.action
