"""The stand-in's binary checks: does a draft meet a constraint, and which argument or sentence shows it."""

from __future__ import annotations

import re
from typing import Any

from bench.reader.filling import choices
from bench.reader.reading import Prompt, labelled, unquoted
from bench.reader.scoring import coverage

MET = 0.6  # share of the constraint's words that one line of a text must have
CONCERNED = 0.34  # share of an option's words in a constraint from which the argument depends on it
_CALL_LINE = re.compile(r"^([\w-]+) = ([^(\n]*?)(?: \(.*\))?$", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def checks(prompt: Prompt) -> list[dict[str, str]]:
    draft = unquoted(prompt.sections.get("Draft", ""))
    arguments = dict(_CALL_LINE.findall(draft)) if draft.startswith("tool = ") else None
    return [
        {"id": label, **(_in_call(text, arguments, draft, prompt) if arguments is not None else _in_text(text, draft))}
        for label, text in labelled(prompt.sections.get("Checks", ""))
    ]


def _in_text(text: str, draft: str) -> dict[str, str]:
    lines = [line for line in draft.splitlines() if line.strip()]
    if max((coverage(text, line) for line in lines), default=0.0) < MET:
        return {"met": "no", "where": ""}
    sentences = [sentence for sentence in _SENTENCE.split(draft) if sentence.strip()]
    shares = [coverage(sentence, text) * coverage(text, sentence) for sentence in sentences]
    return {"met": "yes", "where": str(shares.index(max(shares)) + 1)}


def _in_call(text: str, arguments: dict[str, str], draft: str, prompt: Prompt) -> dict[str, str]:
    """The argument whose options the constraint speaks of decides; else the item chosen may show it."""
    best, where, met = CONCERNED, "", "not_applicable"
    for name, schema in _properties(prompt).items():
        options = choices(schema)
        shares = {key: max(coverage(option, text), coverage(key, text)) for key, option in options.items()}
        top = max(shares.values(), default=0.0)
        if top > best and min(shares.values()) < top:
            best, where = top, name
            met = "yes" if shares.get(arguments.get(name, ""), 0.0) == top else "no"
    if not where and any(coverage(text, line) >= MET for line in draft.splitlines() if line.startswith("item ")):
        met = "yes"
    return {"met": met, "where": where}


def _properties(prompt: Prompt) -> dict[str, Any]:
    tool: dict[str, Any] = next((tool for tool in prompt.tools if tool.get("commits")), {})
    properties: dict[str, Any] = tool.get("parameters", {}).get("properties", {})
    return properties
