"""How the stand-in reads a prompt: sections, evidence, topics, constraints, tools, items. It knows nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

_HEADING = re.compile(r"^## (.+?)\s*$", re.MULTILINE)
_EVIDENCE = re.compile(r"^\[(e\d+)\] (\d{4}-\d{2}-\d{2}) ([^:]{1,40}): (.*)$", re.MULTILINE)
_LABELLED = re.compile(r"^\[([a-z]\d+)\] (.*)$", re.MULTILINE)
_TOPIC = re.compile(r"^- ([\w-]+\.[\w-]+): ([^.]*)\. (.*)$", re.MULTILINE)
_OPTIONS = re.compile(r"^(.*) \(([\w-]+ = .*)\)$", re.DOTALL)
_FOUND = re.compile(r"^- ([\w-]+\.[\w-]+): (e\d+(?:, e\d+)*)$", re.MULTILINE)
_QUOTE = re.compile(r"^> ?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of evidence."""

    label: str
    at: datetime
    channel: str
    text: str


@dataclass(frozen=True, slots=True)
class TopicText:
    """One topic as the prompt shows it; ``options`` maps slugs to (label, description), empty where not shown."""

    slug: str
    name: str
    question: str
    options: Mapping[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a prompt says."""

    sections: Mapping[str, str]
    last: str = ""  # the title of the last section
    request: str = ""
    domain: str = ""
    now: datetime = datetime(2000, 1, 1, tzinfo=UTC)
    evidence: tuple[Line, ...] = ()
    topics: tuple[TopicText, ...] = ()
    constraints: tuple[tuple[str, str], ...] = ()
    unresolved: tuple[tuple[str, str], ...] = ()
    profile: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    items: tuple[dict[str, Any], ...] = ()
    tools: tuple[dict[str, Any], ...] = ()
    found: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # topic -> labels of the lines found for it
    answered: tuple[str, ...] = field(default=())  # names of tools that were already called
    confirmed: bool = False


def read(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()) -> Prompt:
    """Reads all messages of a request; what a tool answered counts as items, evidence or failed checks."""
    asked = "\n".join(_content(message) for message in messages if message.get("role") == "user")
    told = [_content(message) for message in messages if message.get("role") == "tool"]
    sections, last = split(asked)
    evidence = [sections.get("Evidence", ""), *(text for text in told if "## Evidence" in text)]
    failed = [sections.get("Failed checks", ""), *(split(text)[0].get("Failed checks", "") for text in told[-1:])]
    scenario = re.search(r"\(domain: ([\w-]+)\)", sections.get("Scenario", ""))
    return Prompt(
        sections=sections,
        last=last,
        request=sections.get("Request", asked if not sections else "").strip(),
        domain=scenario[1] if scenario else "",
        now=_now(sections.get("Now", "")),
        evidence=tuple(line for text in evidence for line in evidence_lines(text)),
        topics=_topics(sections.get("Topics", "")),
        constraints=labelled(sections.get("Constraints", "")),
        unresolved=labelled(sections.get("Unresolved", "")),
        profile=tuple(line for line in unquoted(sections.get("Profile", "")).splitlines() if line.strip()),
        failed=tuple(line.removeprefix("- ") for text in failed for line in text.splitlines() if line.startswith("- ")),
        items=_items(sections.get("Items", ""), told),
        tools=_tools(sections.get("Tools", ""), tools),
        found={m[1]: tuple(m[2].split(", ")) for m in _FOUND.finditer(sections.get("Found for", ""))},
        answered=_called(messages),
        confirmed=any('"confirmation"' in text for text in told[-1:]),
    )


def split(text: str) -> tuple[dict[str, str], str]:
    """Sections by title, and the title of the last one. A title that comes twice keeps its first body."""
    sections: dict[str, str] = {}
    found = list(_HEADING.finditer(text))
    for match, following in zip(found, [*found[1:], None][: len(found)], strict=True):
        body = text[match.end() : following.start() if following else len(text)].strip()
        sections.setdefault(match[1], "" if body == "none" else body)
    return sections, found[-1][1] if found else ""


def labelled(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((match[1], match[2].strip()) for match in _LABELLED.finditer(text))


def unquoted(text: str) -> str:
    return _QUOTE.sub("", text)


def evidence_lines(text: str) -> tuple[Line, ...]:
    return tuple(
        Line(match[1], _day(match[2]), match[3], match[4].removeprefix("\\")) for match in _EVIDENCE.finditer(text)
    )


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return str(content or "")


def _now(text: str) -> datetime:
    found = re.search(r"\d{4}-\d{2}-\d{2}", text)
    return _day(found[0]) if found else datetime(2000, 1, 1, tzinfo=UTC)


def _day(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        return datetime(2000, 1, 1, tzinfo=UTC)


def _topics(text: str) -> tuple[TopicText, ...]:
    topics = []
    for match in _TOPIC.finditer(text):
        bracket = _OPTIONS.match(match[3])
        question = bracket[1] if bracket else match[3]
        topics.append(TopicText(match[1], match[2], question, _options(bracket[2]) if bracket else {}))
    return tuple(topics)


def _options(text: str) -> dict[str, tuple[str, str]]:
    options = {}
    for part in text.split(" | "):
        slug, _, rest = part.partition(" = ")
        label, _, description = rest.partition(": ")
        options[slug.strip()] = (label.strip(), description.strip())
    return options


def _items(text: str, told: Sequence[str]) -> tuple[dict[str, Any], ...]:
    items: dict[str, dict[str, Any]] = {}
    documents = [document for line in text.splitlines() if isinstance(document := _json(line), dict)]
    for answer in told:
        content = _json(answer)
        if isinstance(content, dict) and isinstance(content.get("items"), list):
            documents.extend(item for item in content["items"] if isinstance(item, dict))
    for document in documents:
        key = str(document.get("id", len(items)))
        items[key] = {**items.get(key, {}), **document}
    return tuple(items.values())


def _tools(text: str, native: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    listed = [document for line in text.splitlines() if isinstance(document := _json(line), dict)]
    return (*listed, *(dict(tool.get("function", {})) for tool in native))


def _called(messages: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    calls = [call for message in messages for call in message.get("tool_calls") or []]
    return tuple(str(call.get("function", {}).get("name", "")) for call in calls)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
