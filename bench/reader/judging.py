"""Judges that err at a stated rate. For each checkpoint they read which option a text serves."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agents.contract import JSON
from bench.caching import made_once
from bench.catalogue import Scenario
from bench.catalogue.words import content_stems
from bench.reader import typed
from bench.reader.faults import Dials, draw
from bench.reader.knowledge import catalogue, own_words, template
from bench.reader.prompt import Prompt
from bench.reader.words import SENTENCE, clauses, served

_AT_MOST = re.compile(r"\b(?:at most|or less)\b")
_AMOUNT = re.compile(r"\b\d+(?:\.\d+)?\b(?![:.]\d)")


@dataclass(frozen=True)
class Point:
    """A checkpoint of a text: its wording with slots, its pattern, and of a preference the option that it asks for."""

    text: str
    pattern: re.Pattern[str]
    scenario: Scenario
    dimension: str = ""
    value: str = ""


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
    """What stands between the two lines that carry the same mark."""
    lines = body.strip().splitlines()
    marks = re.findall(r"[0-9a-f]{8,}", lines[0]) if lines else []
    ends = [number for number, line in enumerate(lines) if number and marks and marks[-1] in line]
    return "\n".join(lines[1 : ends[-1]] if ends else lines)


def _right(text: str, candidate: str) -> tuple[bool, str]:
    """A preference: the text serves this option and no other. Anything else: what the request fixes is in the text."""
    if (typed_answer := typed.judged(text, candidate)) is not None:
        return typed_answer
    for point in _points():
        match = point.pattern.fullmatch(text)
        if match and point.dimension:
            found = served(candidate, point.dimension, point.scenario, match.groupdict())
            labels = [catalogue().dimension(point.dimension).value(value).label for value in sorted(found)]
            return found == {point.value}, f"Here the text speaks for {' and '.join(labels) or 'nothing'}."
        if match and match.groupdict():
            return _has_fixed(text, own_words(point.text, point.scenario), [*match.groupdict().values()], candidate)
        if match:
            others = " ".join(other for other in point.scenario.checkpoints if other != point.text)
            shared = (content_stems(point.text) - content_stems(others)) & content_stems(candidate)
            return bool(shared), f"Of its own words the text has {', '.join(sorted(shared)) or 'none'}."
    wanted = content_stems(text)
    known = wanted & content_stems(candidate)
    return 2 * len(known) > len(wanted), f"{len(known)} of its {len(wanted)} words stand in the text."


def _has_fixed(text: str, own: frozenset[str], fixed: list[str], candidate: str) -> tuple[bool, str]:
    """Whether the candidate has what a checkpoint fixes, or an amount within it where that is the most allowed."""
    why = f"Looked for {', '.join(fixed)}."
    if not _AT_MOST.search(text):
        return all(_words(said) <= _words(candidate) for said in fixed), why
    near = [part for part in SENTENCE.split(candidate) if content_stems(part) & own]
    amounts = [float(amount) for part in near for amount in _AMOUNT.findall(part)]
    return bool(amounts) and max(amounts) <= min(map(float, fixed)), why


def _words(text: str) -> frozenset[str]:
    return frozenset(word for clause in clauses(text) for word in clause)


@made_once()
def _points() -> list[Point]:
    """Every checkpoint of a text."""
    scenarios = [s for data in catalogue().domains.values() for s in data.scenarios.values() if s.preferences]
    wanted = [
        Point(text, template(text, s), s, dimension, value)
        for s in scenarios
        for dimension, wordings in s.preferences.items()
        for value, text in wordings.items()
    ]
    return [*wanted, *(Point(text, template(text, s), s) for s in scenarios for text in s.checkpoints)]
