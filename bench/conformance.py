"""Does an agent keep the contract? Two small tasks of both action kinds, on a history written for this."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Unpack

from agents.contract import (
    JSON,
    ActionKind,
    Evidence,
    Limits,
    SearchOptions,
    TaskInput,
    ToolSpec,
    Trajectory,
)
from agents.contract.serialise import from_json, to_json
from agents.model.client import OpenAILLM
from agents.model.endpoints import StoredCall
from agents.model.limits import LocalLimiter
from agents.registry import AgentSpec, resolve
from agents.runner import check_budget, run_agent
from bench.runs.endpoints import resolve_endpoint
from bench.runs.world import ToolWorld

AS_OF = datetime(2026, 3, 14, 9, tzinfo=UTC)
_TEXTS = (
    (60, "review", "3/5. Ana finished mine. I had rice and about a litre of water."),
    (45, "note", "the green curry went straight back in its box, eyes still streaming"),
    (20, "calendar", "20:00 quiz at the Crown, bring the tall chairs"),
    (9, "purchase", "Yoghurt 500 g, bread, two lemons, milk"),
    (3, "message", "Remind me to return the ladder to Lars"),
)
_FIND = ToolSpec(
    "search_meals",
    "Lists meals.",
    {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
)
_ORDER = ToolSpec(
    "order_meal",
    "Orders a meal.",
    {
        "type": "object",
        "properties": {
            "meal_id": {"type": "string", "description": "Id of the meal from search_meals"},
            "heat": {
                "type": ["string", "null"],
                "enum": ["mild", "fiery", None],
                "description": "Heat: mild = no chilli; fiery = much chilli",
            },
        },
        "required": ["meal_id", "heat"],
        "additionalProperties": False,
    },
    commits=True,
)
_WORLD = {
    "items": [{"id": "MEA-1", "title": "Rice bowl"}, {"id": "MEA-2", "title": "Noodles"}],
    "filters": {},
    "item_argument": "meal_id",
}


def check_agent(method: str, model: str) -> list[dict[str, Any]]:
    """Checks as ``{"name", "passed", "detail"}``. Raises ValueError for an unknown method."""
    spec = resolve(method)
    checks: list[dict[str, Any]] = []
    for kind in ActionKind:
        tools = ToolWorld((_FIND, _ORDER) if kind is ActionKind.CALL_API else (), _WORLD, AS_OF)
        limits = Limits()
        llm = OpenAILLM(resolve_endpoint(model), store=_Memory(), limiter=LocalLimiter(), repeat=0, limits=limits)
        task = _task(kind, tools)
        done = run_agent(spec, task, llm=llm, search=_search, call_tool=tools, limits=limits)
        checks += [{**check, "name": f"{kind}: {check['name']}"} for check in _look(spec, done, tools, limits)]
    return checks


def _look(spec: AgentSpec, done: Trajectory, tools: ToolWorld, limits: Limits) -> list[dict[str, Any]]:
    acted = done.action is not None
    found = [
        _check(
            "ends as completed",
            done.termination.value == "completed",
            done.error.strip().splitlines()[-1:] or [done.termination.value],
        ),
        _check("acts", acted, ["no action was returned"]),
        _check("reports its steps", bool(done.steps), ["steps is empty: a page could not show what was done"]),
        _check(
            "survives a round trip through JSON", to_json(from_json(to_json(done))) == to_json(done), ["values differ"]
        ),
        _check("uses the model it is given", done.usage.calls > 0, ["no call went through llm.complete"]),
    ]
    if done.action is not None and done.action.kind is ActionKind.CALL_API:
        found.append(
            _check("commits exactly once", len(tools.committed) == 1, [f"{len(tools.committed)} committing calls"])
        )
    if done.action is not None and done.action.kind is ActionKind.GENERATE:
        found.append(_check("writes a text", bool(done.action.text.strip()), ["action.text is empty"]))
    try:
        check_budget(spec, done, limits)
        found.append(_check("keeps to the evidence budget", True, []))
    except AssertionError as error:
        found.append(_check("keeps to the evidence budget", False, [str(error)]))
    return found


def _check(name: str, passed: bool, detail: list[str]) -> dict[str, Any]:
    return {"name": name, "passed": passed, "detail": "" if passed else " ".join(detail)}


def _task(kind: ActionKind, tools: ToolWorld) -> TaskInput:
    request = "Order me something for tonight" if tools.specs else "Write me a dinner plan for tonight in three lines"
    return TaskInput("check", "dining", "Dinner", request, AS_OF, kind, tools.specs)


def _search(query: str, **options: Unpack[SearchOptions]) -> tuple[Evidence, ...]:
    """The newest events first, whatever is asked: five events need no engine."""
    events = [
        Evidence(str(n), AS_OF - timedelta(days=days), channel, text) for n, (days, channel, text) in enumerate(_TEXTS)
    ]
    since, until = options.get("since"), options.get("until")
    within = [e for e in events if (not since or e.occurred_at >= since) and (not until or e.occurred_at <= until)]
    return tuple(reversed(within))[: options.get("k", 10)]


class _Memory:
    """Nothing is kept between two checks."""

    def find(self, keys: Sequence[str]) -> dict[str, StoredCall]:
        return {}

    def put(self, key: str, request: JSON, call: StoredCall) -> None:
        return None
