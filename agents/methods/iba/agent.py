"""IBA-Agent: from the request to the action, one stage after the other. Each ablation switches off one part."""

from __future__ import annotations

from dataclasses import dataclass

from agents.contract import (
    JSON,
    LLM,
    ActionKind,
    CallTool,
    Limits,
    Search,
    Stage,
    Step,
    StepKind,
    TaskInput,
    Trajectory,
)
from agents.methods.iba.act import Done, act, act_plainly
from agents.methods.iba.align import align, match_scopes
from agents.methods.iba.fc import act_by_calls
from agents.methods.iba.retrieve import counter_evidence, look_ahead, retrieve
from agents.methods.iba.stages import Alignment, EvidenceNet, Outlook
from agents.methods.iba.think import consequences, think
from agents.toolkit.acting import Brief, look_up
from agents.toolkit.recorder import Recorder
from agents.toolkit.retrieval import retrieve_plainly


@dataclass(frozen=True, slots=True)
class Parts:
    """Which numbered parts of the method are on."""

    deep_retrieval: bool = True
    broad_thinking: bool = True
    synthesis: bool = True
    native_calls: bool = False


def run(
    task: TaskInput, *, llm: LLM, search: Search, call_tool: CallTool, limits: Limits, parts: Parts = Parts()
) -> Trajectory:
    """The whole method. Raises ``Interrupted`` with the partial trajectory where a stage fails.

    What is on offer is looked up first: the fields in which the items differ tell which habits will decide.
    Without deep retrieval the request is the only query; over the gold events that is the oracle.
    """
    with Recorder(llm=llm, call_tool=call_tool, limits=limits) as course:
        calls = task.action_kind is ActionKind.CALL_API
        items = look_up(task, llm=course, call_tool=course.call_tool) if calls else ()
        outlook = look_ahead(task, items, llm=course)
        net = _retrieve(task, outlook, items, course, search, limits, parts)
        alignment = Alignment(())
        if parts.broad_thinking:
            net, alignment = _think(task, outlook, net, course, search, limits, parts)
        done = _act(task, net, alignment, items, course, limits, parts)
        course.add(done.trace)
        course.action, course.plan, course.links = done.action, done.plan, done.links
    return course.trajectory()


def _retrieve(
    task: TaskInput, outlook: Outlook, items: tuple[JSON, ...], course: Recorder, search: Search, limits: Limits,
    parts: Parts,
) -> EvidenceNet:  # fmt: skip
    if parts.deep_retrieval:
        net = retrieve(task, outlook, items, llm=course, search=search, limits=limits)
    else:
        evidence, step = retrieve_plainly(task, search=search, limits=limits)
        net = EvidenceNet(evidence, (step,))
    course.evidence = net.evidence
    course.add(net.trace)
    return net


def _think(
    task: TaskInput, outlook: Outlook, net: EvidenceNet, course: Recorder, search: Search, limits: Limits, parts: Parts
) -> tuple[EvidenceNet, Alignment]:
    """Think, look once for what speaks against it, think again if something came; then consequences and alignment."""
    thoughts = think(task, net, llm=course)
    course.add(thoughts.trace)
    course.constraints = thoughts.constraints
    if parts.deep_retrieval:
        wider = counter_evidence(net, thoughts.constraints, task=task, search=search, limits=limits)
        course.add(wider.trace)
        if wider.evidence != net.evidence:
            net, course.evidence = wider, wider.evidence
            thoughts = think(task, net, llm=course)
            course.add(thoughts.trace)
    further = consequences(task, net, thoughts.constraints, llm=course)
    drawn = (*thoughts.constraints, *further)
    course.constraints = drawn
    scopes = match_scopes(task, drawn, outlook.day, llm=course)
    dates = {item.event_id: item.occurred_at for item in net.evidence}
    resolved = align(drawn, dates=dates, as_of=task.as_of, day=outlook.day, scopes=scopes)
    course.constraints = resolved
    decided = [{"id": item.constraint_id, "status": item.status, "reason": item.reason} for item in resolved]
    count = len(Alignment(resolved).active)
    summary = f"{count} of {len(resolved)} constraints hold here and now."
    course.add((Step(Stage.ALIGN, StepKind.CODE, summary, {"decided": decided}),))
    return net, Alignment(resolved)


def _act(
    task: TaskInput, net: EvidenceNet, alignment: Alignment, items: tuple[JSON, ...], course: Recorder, limits: Limits,
    parts: Parts,
) -> Done:  # fmt: skip
    if not parts.broad_thinking:
        return act_plainly(task, Brief(net.evidence), items, llm=course, call_tool=course.call_tool)
    if not parts.synthesis:
        brief = Brief(net.evidence, alignment.active, alignment.unresolved, restate_last=False)
        return act_plainly(task, brief, items, llm=course, call_tool=course.call_tool)
    stage = act_by_calls if parts.native_calls else act
    return stage(task, alignment, net.evidence, items, llm=course, call_tool=course.call_tool, limits=limits)
