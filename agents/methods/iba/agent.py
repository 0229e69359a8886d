"""IBA-Agent: from the request to the action, one stage after the other. Each ablation switches off one part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.contract import JSON, LLM, ActionKind, CallTool, Constraint, Limits, Search, Step, TaskInput, Trajectory
from agents.methods.iba.act import Done, act, act_plainly
from agents.methods.iba.align import align
from agents.methods.iba.consequences import consequences
from agents.methods.iba.fc import act_by_calls
from agents.methods.iba.model import Alignment, EvidenceNet
from agents.methods.iba.retrieve import retrieve, retrieve_plain
from agents.methods.iba.think import think
from agents.toolkit.acting import Brief, look_up
from agents.toolkit.dates import action_day
from agents.toolkit.recorder import Recorder


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
    """
    with Recorder(llm=llm, call_tool=call_tool, limits=limits) as course:
        calls = task.action_kind is ActionKind.CALL_API
        items = look_up(task, llm=course, call_tool=course.call_tool) if calls else ()
        if parts.deep_retrieval:
            net = retrieve(task, llm=course, search=search, limits=limits, items=items)
        else:
            net = retrieve_plain(task, search=search, limits=limits)
        course.evidence = net.evidence
        course.add(net.trace)
        alignment = _align(task, net, course) if parts.broad_thinking else Alignment(())
        course.constraints = alignment.constraints
        course.add(alignment.trace)
        done = _act(task, net, alignment, items, course, limits, parts)
        course.add(done.trace)
        course.action, course.plan, course.links = done.action, done.plan, done.links
    return course.trajectory()


def _align(task: TaskInput, net: EvidenceNet, course: Recorder) -> Alignment:
    thoughts = think(task, net, llm=course)
    course.add(thoughts.trace)
    course.constraints = thoughts.constraints
    dates = {item.event_id: item.occurred_at for item in net.evidence}

    day = action_day(task.request, task.as_of)

    def resolve(constraints: Sequence[Constraint]) -> tuple[Constraint, ...]:
        return align(constraints, dates=dates, request=task.request, as_of=task.as_of, day=day, topics=net.topics)

    first = Alignment(resolve(thoughts.constraints))
    further = consequences(task, net, first.active, llm=course)
    resolved = resolve((*thoughts.constraints, *further))
    decided = [{"id": item.constraint_id, "status": item.status, "reason": item.reason} for item in resolved]
    count = len(Alignment(resolved).active)
    step = Step("align", "code", f"{count} of {len(resolved)} constraints hold here and now.", {"decided": decided})
    return Alignment(resolved, (step,))


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
