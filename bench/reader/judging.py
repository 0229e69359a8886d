"""Judges that err at a stated rate. For each checkpoint they read which option a text serves."""

from __future__ import annotations

import re
from functools import cache

from agents.contract import JSON
from bench.reader import typed
from bench.reader.faults import Dials, draw
from bench.reader.knowledge import Option, catalogue, template
from bench.reader.prompt import Prompt
from bench.reader.words import served, words

_ADDRESSES = re.compile(
    r"\b(?:judges?|graders?|annotators?|verdicts?|rubric|checkpoints?|candidate|evaluat\w+|instructions?|system)\b"
    r"|\b(?:answer|reply|return|output|say|said|grade\w*|marks?|vote)\b.{0,30}\b(?:pass(?:es|ed)?|marks)\b|<\||\bk\d+\b|\bgold\b|#\s*answer",
    re.IGNORECASE,
)


def verdicts(prompt: Prompt, judge: str, dials: Dials) -> list[JSON]:
    """One verdict for each checkpoint of the prompt, in its order; wrong where the judge errs."""
    candidate = _candidate(prompt.sections.get("Candidate", ""))
    rows = []
    for label, point in prompt.labelled("Checkpoints"):
        passed, why = _right(point, candidate)
        if draw("errs", judge, point, candidate) < dials.errs:
            passed, why = not passed, "A simulated slip of this judge."
        rows.append({"id": label, "rationale": why, "verdict": "pass" if passed else "fail"})
    return rows


def _candidate(body: str) -> str:
    """What stands between the two lines that carry the same mark, without what speaks to the judge."""
    lines = body.strip().splitlines()
    marks = re.findall(r"[0-9a-f]{8,}", lines[0]) if lines else []
    ends = [number for number, line in enumerate(lines) if number and marks and marks[-1] in line]
    inside = lines[1 : ends[-1]] if ends else lines
    return "\n".join(line for line in inside if not _ADDRESSES.search(line))


def _right(point: str, candidate: str) -> tuple[bool, str]:
    """A preference: the text serves this option and no other. Anything else: what the request fixes is in the text."""
    if (typed_answer := typed.judged(point, candidate)) is not None:
        return typed_answer
    for pattern, option, among in _points():
        match = pattern.fullmatch(point)
        if match and option:
            found = served(candidate, option[0], among)
            labels = [catalogue().dimension(option[0]).value(value).label for value in sorted(found)]
            return found == {option[1]}, f"Here the text speaks for {' and '.join(labels) or 'nothing'}."
        if match and match.groupdict():
            fixed = frozenset().union(*(words(text) for text in match.groupdict().values()))
            return fixed <= words(candidate), f"Looked for {', '.join(match.groupdict().values())}."
    wanted = words(point)
    shared = len(wanted & words(candidate))
    return 2 * shared > len(wanted), f"{shared} of its {len(wanted)} words stand in the text."


@cache
def _points() -> list[tuple[re.Pattern[str], Option | None, tuple[str, ...]]]:
    """Every checkpoint of a text: a pattern, its option, and the dimensions of its scenario."""
    scenarios = [s for data in catalogue().domains.values() for s in data.scenarios.values() if s.preferences]
    wanted = [
        (template(text, s), (dimension, value), s.dimensions)
        for s in scenarios
        for dimension, wordings in s.preferences.items()
        for value, text in wordings.items()
    ]
    return [*wanted, *((template(text, s), None, s.dimensions) for s in scenarios for text in s.checkpoints)]
