"""A task played in this process with the ideal reader and an exact judge: no worker, no server, nothing stored."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agents.contract import JSON, Action, Limits, Reply, ToolCall, ToolSpec
from agents.registry import resolve
from bench.grading import judges, rules
from bench.grading.judges import JudgedCheckpoint
from bench.grading.settled import is_value
from bench.models import Checkpoint, CheckpointKind, Task
from bench.reader import typed
from bench.reader.acting import likely_items, same
from bench.reader.answers import answer, reply, view_of
from bench.reader.faults import MODELS, OFFLINE, Dials
from bench.reader.view import View
from bench.runs.inputs import search_for, task_input
from bench.runs.world import world_of

JUDGE = "offline-exact"


@dataclass(frozen=True)
class Played:
    """One checkpoint of a task, and whether the action met it."""

    task: Task
    checkpoint: Checkpoint
    passed: bool


@dataclass
class ReaderHere:
    """``agents.contract.LLM`` without a wire. ``views``: what it made of each prompt, in their order."""

    dials: Dials = MODELS[OFFLINE]
    views: list[View] = field(default_factory=list)

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        stage: str,
        schema: JSON | None = None,
        tools: Sequence[ToolSpec] = (),
        temperature: float = 0.0,
        max_tokens: int = 900,
    ) -> Reply:
        body: JSON = {"model": OFFLINE, "messages": messages}
        if schema is not None:
            body["response_format"] = {"type": "json_schema", "json_schema": {"name": stage, "schema": schema}}
        if tools:
            body["tools"] = [{"function": {"name": t.name, "parameters": t.parameters}} for t in tools]
        self.views.append(view_of(body, self.dials))
        message = reply(body, self.views[-1])
        text = message["content"] or ""
        calls = tuple(
            ToolCall(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
            for call in message["tool_calls"]
        )
        return Reply(text, json.loads(text) if schema is not None else None, calls)


def play(task: Task, method: str, *, gold: bool = False) -> Iterator[Played]:
    """Every checkpoint of a task as a method and the ideal reader meet it, judged without error.

    With ``gold`` the method finds the task's gold events, whatever it searches for.
    """
    spec, world = resolve(method), world_of(task)
    search = search_for(replace(spec, uses_gold=spec.uses_gold or gold), task)
    course = spec.function(task_input(task), llm=ReaderHere(), search=search, call_tool=world, limits=Limits())
    checkpoints = [c for c in task.checkpoints.all() if not c.retired]
    judged = _judged(task, course.action, [c for c in checkpoints if c.rule is None])
    items = {"items": {str(item["id"]): item for item in task.world.get("items", ())}}
    for checkpoint in checkpoints:
        if checkpoint.rule is None:
            yield Played(task, checkpoint, judged[checkpoint.pk])
        else:
            verdict = rules.check(checkpoint.rule, committed=world.committed, world=items, as_of=task.as_of)
            yield Played(task, checkpoint, verdict.value == "pass")


def _judged(task: Task, action: Action | None, checkpoints: Sequence[Checkpoint]) -> dict[int, bool]:
    ids = {f"k{n}": checkpoint.pk for n, checkpoint in enumerate(checkpoints, 1)}
    if not ids or action is None:
        return dict.fromkeys(ids.values(), False)
    asked = [JudgedCheckpoint(key, c.text) for key, c in zip(ids, checkpoints, strict=True)]
    body = {
        "model": JUDGE,
        "messages": judges.messages(task.request, asked, judges.render_action(action)),
        "response_format": {"json_schema": {"schema": judges.schema(list(ids))}},
    }
    result = judges.parse(answer(body, MODELS[JUDGE])["content"], list(ids))
    return {ids[key]: value == "pass" for key, (value, _) in result.verdicts.items()}


def unsolved(tasks: Iterable[Task]) -> list[Played]:
    """The checkpoints that the ideal reader misses although it is shown all gold evidence: their tasks are broken."""
    return [played for task in tasks for played in play(task, "rag", gold=True) if not played.passed]


def odds_without_history(task: Task) -> dict[int, float]:
    """Preference checkpoint -> how likely the ideal reader meets it when it sees nothing of the history.

    Exact: the reader is asked, of the last prompt that it got, among what it draws. What it takes for settled there is
    told by request, tools or items.
    """
    reader = ReaderHere()
    agent = resolve("no_history").function
    agent(
        task_input(task),
        llm=reader,
        search=search_for(resolve("no_history"), task),
        call_tool=world_of(task),
        limits=Limits(),
    )
    preferences = [c for c in task.checkpoints.all() if c.kind == CheckpointKind.PREFERENCE and not c.retired]
    return {checkpoint.pk: _odds(checkpoint, reader.views[-1]) for checkpoint in preferences}


def _odds(checkpoint: Checkpoint, view: View) -> float:
    rule = checkpoint.rule or {}
    if checkpoint.answer:  # nobody guesses among values that nobody offers
        return float(is_value(checkpoint, typed.kept(view, checkpoint.dimension)))
    if "item_field" in rule:
        likely = [view.prompt.items[key].get(rule["item_field"]) for key in likely_items(view)]
        met = [same(value, rule["equals"]) for value in likely]
    else:
        met = [value == checkpoint.value for value in view.likely(checkpoint.dimension)]
    return sum(met) / len(met) if met else 0.0
