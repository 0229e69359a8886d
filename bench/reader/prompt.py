"""A request's messages taken apart: sections, lines of history wherever they stand, tools, items, answers of tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from agents.contract import JSON
from bench.generation.resolve import Shown

_HEADING = re.compile(r"^## (.+?)\s*$", re.MULTILINE)
_LABEL = re.compile(r"^\[(\w+)\]\s*")
_DAY = re.compile(r"\b(\d{4}-\d{2}-\d{2})(?!\d)")
_AFTER_DAY = re.compile(r"\d{4}-\d{2}-\d{2}[^\s]*\s*[-–|:)\]]?\s*(.+)")
SPLITS = 4  # how many colons of a line may stand before the text


@dataclass(frozen=True)
class Seen:
    """A text that may be one of a history: the label before it ("e1"), its day, where the prompt gives them."""

    label: str
    on: date | None
    texts: tuple[str, ...]  # the line, and what is left of it without what may stand before a text


@dataclass(frozen=True)
class Known:
    """A text of a generated history in the prompt, with what it means."""

    label: str
    text: str
    shown: Shown


@dataclass
class Prompt:
    sections: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    tools: list[JSON] = field(default_factory=list)
    items: dict[str, JSON] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)  # names of the tools whose answers are there
    confirmed: list[str] = field(default_factory=list)  # names of the tools that have confirmed

    def labelled(self, title: str) -> list[tuple[str, str]]:
        """The lines ``[c1] text`` of a section."""
        rows = ((_LABEL.match(line), line) for line in self.sections.get(title, "").splitlines())
        return [(match[1], line[match.end() :].strip()) for match, line in rows if match]

    @property
    def now(self) -> date:
        """The day that the prompt calls now; else the last that it names, else today."""
        named = _days(self.sections.get("Now", "")) or sorted(day for line in self.lines for day in _days(line))
        return named[-1] if named else date.today()  # noqa: DTZ011 (no zone is known)


def read(messages: Sequence[Mapping[str, Any]], tools: Sequence[JSON] = ()) -> Prompt:
    prompt = Prompt(tools=[tool["function"] for tool in tools])
    names: dict[str, str] = {}
    for message in messages:
        for call in message.get("tool_calls") or []:
            names[str(call.get("id"))] = str(call["function"]["name"])
        text = _text(message.get("content"))
        answering = names.get(str(message.get("tool_call_id")), "") if message["role"] == "tool" else None
        if answering is not None:
            prompt.answered.append(answering)
        if message["role"] != "assistant":
            _take(prompt, text, answering)
    prompt.tools += [tool for line in prompt.sections.get("Tools", "").splitlines() if (tool := _object(line))]
    return prompt


def _text(content: object) -> str:
    """A message's text, plain or in parts."""
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


def _take(prompt: Prompt, text: str, tool: str | None) -> None:
    """``tool``: whose answer the text is."""
    _, *rest = _HEADING.split(text)
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        said = "" if body.strip() == "none" else body.strip()
        prompt.sections[title] = f"{prompt.sections.get(title, '')}\n{said}".strip()
    whole = _object(text)
    for line in [text] if whole else text.splitlines():
        row = whole or _object(line)
        if row is None:
            prompt.lines.append(line.strip())
            prompt.seen.append(_seen(line))
            continue
        if tool is not None and row.get("confirmation"):
            prompt.confirmed.append(tool)
        listed = row.get("items")
        for item in [*(listed if isinstance(listed, list) else []), row]:
            if isinstance(item, dict) and "id" in item and "text" not in item:
                prompt.items[str(item["id"])] = {**prompt.items.get(str(item["id"]), {}), **item}
        prompt.seen.extend(_walk(row))


def _object(text: str) -> JSON | None:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return {"rows": found} if isinstance(found, list) else found if isinstance(found, dict) else None


def _walk(node: object) -> Iterator[Seen]:
    """Every string of a JSON value, with the day that stands beside it."""
    if isinstance(node, dict):
        strings = [value for value in node.values() if isinstance(value, str)]
        days = [day for value in strings for day in _days(value[:30])]
        yield Seen("", days[0] if days else None, tuple(strings))
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _walk(child)


def _seen(line: str) -> Seen:
    text = line.strip().lstrip(">").lstrip().removeprefix("- ").removeprefix("* ")
    label = _LABEL.match(text)
    text = text[label.end() :] if label else text
    days = _days(text[:40])
    tails = [": ".join(text.split(": ")[n:]) for n in range(min(SPLITS, text.count(": ")) + 1)]
    if after := _AFTER_DAY.search(text):
        tails.append(after[1])
    texts = dict.fromkeys(
        variant for tail in tails for variant in (tail, tail.strip("\"'“” "), tail.removeprefix("\\"))
    )
    return Seen(label[1] if label else "", days[0] if days else None, tuple(text for text in texts if text))


def _days(text: str) -> list[date]:
    found = []
    for match in _DAY.findall(text):
        try:
            found.append(date.fromisoformat(match))
        except ValueError:
            continue
    return found
