"""Prompts from files, and the sections that stand in every one of them.

A value can never open a section: evidence, requests and drafts are put on one
line or quoted line by line, and lose characters that do not show.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from functools import cache, lru_cache
from pathlib import Path

from agents.contract import JSON, Constraint, Evidence, Message, TaskInput, ToolSpec

PROMPTS = Path(__file__).parent.parent / "prompts"
NONE = "none"
_VARIABLE = re.compile(r"\{\{ (\w+) \}\}")


def render(name: str, **values: str) -> str:
    """The prompt file ``<name>.md`` with its variables filled, once. Raises ValueError for a wrong set of them."""
    template = _template(name)
    wanted = set(_VARIABLE.findall(template))
    if wanted != values.keys():
        missing, unknown = sorted(wanted - values.keys()), sorted(values.keys() - wanted)
        raise ValueError(f"prompt {name!r}: missing variables {missing}, unknown variables {unknown}")
    text = _VARIABLE.sub(lambda match: values[match[1]], template)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def chat(name: str, **values: str) -> list[Message]:
    """Messages for one step: the system prompt shared by all and the rendered step."""
    return [
        {"role": "system", "content": render("shared/system")},
        {"role": "user", "content": render(name, **values)},
    ]


@cache
def _template(name: str) -> str:
    path = PROMPTS / f"{name}.md"
    if not path.is_file():
        known = sorted(file.relative_to(PROMPTS).with_suffix("").as_posix() for file in PROMPTS.rglob("*.md"))
        raise ValueError(f"no prompt {name!r}; there are {', '.join(known)}")
    return path.read_text(encoding="utf-8")


@lru_cache(maxsize=20_000)  # the texts of a history stand in many prompts
def one_line(text: str) -> str:
    """A text as one visible line that cannot be taken for a heading."""
    if not text.isprintable():
        text = "".join(" " if unicodedata.category(char) in {"Cc", "Zl", "Zp"} else char for char in text)
        text = "".join(char for char in text if unicodedata.category(char) != "Cf")
    line = " ".join(text.split())
    return f"\\{line}" if line.startswith("#") else line


def quoted(text: str) -> str:
    """A text of several lines, each behind ``> ``."""
    lines = [one_line(line) for line in text.splitlines()]
    return "\n".join(f"> {line}" for line in lines if line) or NONE


def section(title: str, body: str) -> str:
    """A whole section, or nothing where the body is empty."""
    return f"## {title}\n{body}\n" if body and body != NONE else ""


def now_line(moment: datetime) -> str:
    return f"{moment:%A} {moment:%Y-%m-%d}"


def evidence_lines(evidence: Sequence[Evidence]) -> str:
    """``[e1] 2026-03-11 message: text``, in the order given."""
    lines = [
        f"[e{number}] {item.occurred_at:%Y-%m-%d} {one_line(item.channel)}: {one_line(item.text)}"
        for number, item in enumerate(evidence, 1)
    ]
    return "\n".join(lines) or NONE


def cited_events(labels: Sequence[str], evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """The events behind labels of ``evidence_lines``, oldest first; a label that no line has is left out."""
    by_label = {f"e{number}": item for number, item in enumerate(evidence, 1)}
    cited = {label: by_label[label] for label in labels if label in by_label}
    return tuple(sorted(cited.values(), key=lambda item: (item.occurred_at, item.event_id)))


def bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {one_line(line)}" for line in lines) or NONE


def constraint_lines(constraints: Sequence[Constraint]) -> str:
    """``[c1] text``, with the constraint's own id."""
    return "\n".join(f"[{item.constraint_id}] {one_line(item.text)}" for item in constraints) or NONE


def tool_lines(tools: Sequence[ToolSpec]) -> str:
    """One JSON object a line: name, description, whether it commits, parameters."""
    lines = [
        json.dumps(
            {
                "name": tool.name,
                "description": tool.description,
                "commits": tool.commits,
                "parameters": tool.parameters,
            },
            ensure_ascii=False,
        )
        for tool in tools
    ]
    return "\n".join(lines) or NONE


def item_lines(items: Sequence[JSON]) -> str:
    """One JSON object a line; text inside is data and stays on its line."""
    return "\n".join(json.dumps(item, ensure_ascii=False) for item in items) or NONE


def task_lines(task: TaskInput) -> str:
    """The sections ``Scenario``, ``Request`` and ``Now``: the same text in every prompt of every method."""
    return "\n".join(
        (
            section("Scenario", f"{one_line(task.scenario)} (domain: {task.domain})"),
            section("Request", one_line(task.request)),
            section("Now", now_line(task.as_of)),
        )
    )
