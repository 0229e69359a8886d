"""The tools of one task, run against its world. Look-ups read; the committing call is remembered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jsonschema import Draft202012Validator

from agents.contract import JSON, ToolResult, ToolSpec
from bench.grading.normalise import normalise_text
from bench.models import Task

PAGE = 12


@dataclass
class ToolWorld:
    """``agents.contract.CallTool`` for one task. ``committed`` holds accepted committing calls in order."""

    specs: tuple[ToolSpec, ...]
    world: JSON
    committed: list[JSON] = field(default_factory=list)

    def __call__(self, name: str, arguments: JSON) -> ToolResult:
        spec = next((spec for spec in self.specs if spec.name == name), None)
        if spec is None:
            known = ", ".join(spec.name for spec in self.specs)
            return _error(f"there is no tool {name!r}; tools are: {known}")
        faults = sorted(Draft202012Validator(spec.parameters).iter_errors(arguments), key=lambda e: str(e.path))
        if faults:
            place = ".".join(str(part) for part in faults[0].path) or "arguments"
            return _error(f"{place}: {faults[0].message}")
        return self._commit(spec, arguments) if spec.commits else self._look_up(spec, arguments)

    def _look_up(self, spec: ToolSpec, arguments: JSON) -> ToolResult:
        filters = self.world["filters"].get(spec.name, {})
        wanted = {filters[name]: value for name, value in arguments.items() if name in filters and value is not None}
        items = [item for item in self.world["items"] if all(_same(item.get(f), v) for f, v in wanted.items())]
        return ToolResult(ok=True, content={"items": items[:PAGE], "total": len(items)})

    def _commit(self, spec: ToolSpec, arguments: JSON) -> ToolResult:
        chosen = arguments.get(self.world["item_argument"])
        if not any(_same(item["id"], chosen) for item in self.world["items"]):
            return _error(f"{self.world['item_argument']}: there is no item {chosen!r}; take an id from a look-up")
        self.committed.append({"tool": spec.name, "arguments": arguments})
        return ToolResult(
            ok=True, content={"confirmation": f"{spec.name} done", "number": len(self.committed)}, accepted=True
        )


def world_of(task: Task) -> ToolWorld:
    return ToolWorld(tool_specs_of(task), task.world)


def tool_specs_of(task: Task) -> tuple[ToolSpec, ...]:
    return tuple(ToolSpec(**spec) for spec in task.tools)


def _same(stored: Any, asked: Any) -> bool:
    return stored == asked or normalise_text(str(stored)) == normalise_text(str(asked))


def _error(message: str) -> ToolResult:
    return ToolResult(ok=False, content={"error": message})
