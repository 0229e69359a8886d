"""Stage 4, first half: plan, draft, and commit what was verified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.contract import (
    JSON,
    LLM,
    Action,
    CallTool,
    Constraint,
    Evidence,
    Limits,
    Link,
    Stage,
    Step,
    StepKind,
    TaskInput,
)
from agents.methods.iba.stages import Alignment
from agents.methods.iba.verify import code_problems, links, repair
from agents.toolkit import arguments as args
from agents.toolkit.acting import Brief, Draft, called, commit, draft
from agents.toolkit.rendering import chat, constraint_lines, task_lines, tool_lines

HARD = 0.5  # an unresolved constraint from this strength on is asked about, not guessed


@dataclass(frozen=True, slots=True)
class Plan:
    """Ids of the constraints that the action has to meet, most important first, and the steps in words."""

    constraints: tuple[str, ...]
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """What the acting stage ends with. ``action`` is None where nothing was accepted."""

    action: Action | None
    plan: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    trace: tuple[Step, ...] = ()


def act(
    task: TaskInput,
    alignment: Alignment,
    evidence: Sequence[Evidence],
    items: tuple[JSON, ...],
    *,
    llm: LLM,
    call_tool: CallTool,
    limits: Limits,
) -> Done:
    """Plan, draft, verification with repairs, commit. ``items`` are what the look-ups found."""
    planned = plan(task, alignment.active, llm=llm)
    brief = brief_for(planned, alignment, evidence)
    first = draft(task, brief, llm=llm, items=items)
    verified, trace = repair(task, first, brief, llm=llm, limits=limits)
    action = _committed(task, verified.draft, brief, llm=llm, call_tool=call_tool)
    steps = (Step(Stage.PLAN, StepKind.NOTE, "Planned the course.", {"steps": list(planned.steps)}), *trace)
    return Done(action, planned.constraints, links(verified, brief.constraints), steps)


def act_plainly(task: TaskInput, brief: Brief, items: tuple[JSON, ...], *, llm: LLM, call_tool: CallTool) -> Done:
    """The ablation of trajectory-level synthesis: no plan, no verification, constraints not restated last."""
    done = draft(task, brief, llm=llm, items=items)
    outcome = commit(task, done, call_tool=call_tool)
    action = outcome if isinstance(outcome, Action) else outcome.action
    return Done(action, tuple(c.constraint_id for c in brief.constraints))


def plan(task: TaskInput, active: Sequence[Constraint], *, llm: LLM) -> Plan:
    """One model call; ids that are not active are dropped, and with no constraints there is nothing to plan."""
    if not active:
        return Plan((), ())
    reply = llm.complete(
        chat("iba/plan", task=task_lines(task), tools=tool_lines(task.tools), constraints=constraint_lines(active)),
        stage=Stage.PLAN,
        schema=_plan_schema(),
    )
    parsed = reply.parsed or {}
    known = {item.constraint_id for item in active}
    chosen = tuple(item for item in dict.fromkeys(parsed.get("constraints", [])) if item in known)
    return Plan(chosen, tuple(str(step) for step in parsed.get("steps", [])))


def brief_for(planned: Plan, alignment: Alignment, evidence: Sequence[Evidence]) -> Brief:
    """A short context: the planned constraints in the plan's order, and only the events that they cite.

    What a state and a trait both say is said once.
    """
    by_id = {item.constraint_id: item for item in alignment.active}
    said: dict[tuple[str, ...], Constraint] = {}
    for constraint_id in planned.constraints:
        item = by_id[constraint_id]
        said.setdefault((item.about, item.value or item.text, item.polarity), item)
    chosen = tuple(said.values())
    hard = tuple(item for item in alignment.unresolved if item.strength >= HARD)
    cited = {event for item in (*chosen, *hard) for event in item.evidence}
    return Brief(tuple(item for item in evidence if item.event_id in cited), chosen, hard)


def would_ask(task: TaskInput, done: Draft, brief: Brief) -> tuple[str, ...]:
    """Arguments left open although the tool knows them, where a hard constraint stayed unresolved."""
    if done.arguments is None or not brief.unresolved:
        return ()
    return args.open_arguments(done.arguments, args.as_one(called(task, done)))


def _committed(task: TaskInput, done: Draft, brief: Brief, *, llm: LLM, call_tool: CallTool) -> Action | None:
    """Commits; a refused call is repaired once with the tool's own words, and never when code objects to it."""
    outcome = commit(task, done, call_tool=call_tool, would_ask=would_ask(task, done, brief))
    if isinstance(outcome, Action):
        return outcome
    redone = draft(task, brief, llm=llm, items=done.items, before=outcome.draft, failed=[outcome.error])
    if redone == outcome.draft or code_problems(task, redone):
        return outcome.action
    outcome = commit(task, redone, call_tool=call_tool, would_ask=would_ask(task, redone, brief))
    return outcome if isinstance(outcome, Action) else outcome.action


def _plan_schema() -> JSON:
    texts: JSON = {"type": "array", "items": {"type": "string"}}
    return {
        "type": "object",
        "properties": {"constraints": texts, "steps": texts},
        "required": ["constraints", "steps"],
        "additionalProperties": False,
    }
