"""Judges that err at a stated rate. For each checkpoint they read which option a text serves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from agents.contract import JSON
from bench.reader.faults import Dials
from bench.reader.knowledge import Asked, Option, catalogue, sentence, template, wording
from bench.reader.prompt import Prompt
from bench.reader.view import draw


def verdicts(prompt: Prompt, judge: str, dials: Dials) -> list[JSON]:
    """One verdict for each checkpoint of the prompt, in its order; wrong where the judge errs."""
    candidate = _candidate(prompt.sections.get("Candidate", ""))
    rows = []
    for label, point in prompt.labelled("Checkpoints"):
        passed, why = _right(point, candidate)
        if draw("errs", judge, point, candidate) < dials.errs:
            passed, why = not passed, "Simulated slip of this judge."
        rows.append({"id": label, "rationale": why, "verdict": "pass" if passed else "fail"})
    return rows


def _candidate(body: str) -> str:
    """What stands between the two lines that carry the same mark."""
    lines = body.strip().splitlines()
    marks = re.findall(r"[0-9a-f]{8,}", lines[0]) if lines else []
    ends = [number for number, line in enumerate(lines) if number and marks and marks[-1] in line]
    return "\n".join(lines[1 : ends[-1]]) if ends else body


def _right(point: str, candidate: str) -> tuple[bool, str]:
    for pattern, (dimension, value) in _points():
        if pattern.fullmatch(point):
            options = [v.slug for v in catalogue().dimension(dimension).values]
            found = served(candidate, dimension, options, None)
            labels = " and ".join(sorted(catalogue().dimension(dimension).value(v).label for v in found)) or "nothing"
            return found == {value}, f"On this point the text speaks for {labels}."
    return point in candidate, "Looked for what the request fixes."


@cache
def _points() -> list[tuple[re.Pattern[str], Option]]:
    return [
        (template(text, scenario), (dimension, value))
        for data in catalogue().domains.values()
        for scenario in data.scenarios.values()
        for dimension, wordings in scenario.preferences.items()
        for value, text in wordings.items()
    ]


def served(text: str, dimension: str, options: Sequence[str], asked: Asked | None) -> set[str]:
    """The options of a dimension that a text speaks for."""
    found = {value for value in options if sentence(dimension, value) in text}
    if asked:
        found |= {value for value in options if wording(asked.scenario, dimension, value).casefold() in text.casefold()}
    return found
