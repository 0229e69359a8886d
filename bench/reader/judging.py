"""Three stand-in judges that differ in how they compare a checkpoint with the candidate.

a: share of the checkpoint's content words (stemmed) in the best line of the candidate, pass from 0.33
b: embedding similarity of the checkpoint and the best line, pass from 0.845
c: cosine of character trigrams of the checkpoint and the best line, sentence or clause, pass from 0.40

Calibrated on 14 sentences of our own about things that the benchmark does not hold (dogs, choirs, hedges), each
with the same fact in other words and two other facts: their majority passes 71% of the right ones, 32% of the
others and none about something else.

A candidate is only ever compared, so a text in it that addresses the judge changes nothing
but its own likeness to the checkpoint; lines that do so are left out.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache

from bench.reader.reading import labelled, split, unquoted
from bench.reader.scoring import Embed, cosines, coverage

THRESHOLDS = {"a": 0.33, "b": 0.845, "c": 0.40}
LONGEST = 300  # characters; a longer line is taken sentence by sentence
_ADDRESSES = re.compile(
    r"\b(?:judges?|graders?|verdicts?|rubric|checkpoints?|evaluat\w+|instructions?|system prompt"
    r"|mark (?:this|it|all))\b"
    r"|\b(?:answer|reply|return|output|say|grade\w*|vote)\b.{0,30}\bpass(?:es|ed)?\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")
_CLAUSE = re.compile(r"(?<=[.!?])\s+|[,;:]\s+")
COMPARED = 8  # lines whose vectors are compared: the nearest by their letters
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def judge(model: str, text: str, embed: Embed) -> list[dict[str, str]]:
    """One verdict for each checkpoint of the prompt, in its order. An empty candidate fails all."""
    kind = model.rstrip().split("+")[0][-1]
    kind = kind if kind in THRESHOLDS else "a"
    head, _, tail = text.partition("## Candidate")
    points = labelled(split(head)[0].get("Checkpoints", ""))
    lines = candidate_lines(tail)
    return [_verdict(kind, label, point, lines, embed) for label, point in points]


def candidate_lines(tail: str) -> list[str]:
    """The candidate's lines between its delimiters, without those that speak to the judge."""
    body = _between_delimiters(tail)
    lines: list[str] = []
    for line in unquoted(body).splitlines():
        text = line.strip().removeprefix("- ").strip()
        lines.extend(_SENTENCE.split(text) if len(text) > LONGEST else [text])
    return [line for line in lines if line and not _ADDRESSES.search(line)]


def _between_delimiters(tail: str) -> str:
    """From the line after the first one to the last line that carries the same mark."""
    lines = tail.strip("\n").splitlines()
    marks = re.findall(r"[0-9a-f]{8,}", lines[0]) if lines else []
    if not marks:
        return tail
    ends = [number for number, line in enumerate(lines) if number and marks[-1] in line]
    return "\n".join(lines[1 : ends[-1] if ends else len(lines)])


def _verdict(kind: str, label: str, point: str, lines: list[str], embed: Embed) -> dict[str, str]:
    shares = _shares(kind, point, lines, embed)
    best = max(range(len(lines)), key=lambda number: (shares[number], -number), default=None)
    share = shares[best] if best is not None else 0.0
    passed = share >= THRESHOLDS[kind]
    words = "meets" if passed else "does not meet"
    shown = f": {lines[best][:120]!r}" if best is not None else ", as it is empty"
    return {
        "id": label,
        "verdict": "pass" if passed else "fail",
        "rationale": f"The candidate {words} it (likeness {share:.2f}){shown}.",
    }


def _shares(kind: str, point: str, lines: list[str], embed: Embed) -> list[float]:
    if kind == "a":
        return [coverage(point, line) for line in lines]
    letters = [max(_trigram_cosine(point, part) for part in _parts(line)) for line in lines]
    if kind == "c" or not lines:
        return letters
    nearest = sorted(range(len(lines)), key=lambda number: (-letters[number], number))[:COMPARED]
    near = cosines([point], [lines[number] for number in nearest], embed, ("query", "query"))[0]
    shares = [0.0] * len(lines)
    for number, value in zip(nearest, near, strict=True):
        shares[number] = float(value)
    return shares


@lru_cache(maxsize=20_000)
def _parts(line: str) -> tuple[str, ...]:
    """The line, its sentences and its clauses."""
    return tuple(dict.fromkeys([line, *_SENTENCE.split(line), *(part for part in _CLAUSE.split(line) if part)]))


def _trigram_cosine(one: str, other: str) -> float:
    mine, theirs = _trigrams(one), _trigrams(other)
    shared = mine.keys() & theirs.keys()
    length = math.sqrt(_square(one) * _square(other))
    return sum(mine[gram] * theirs[gram] for gram in shared) / length if length else 0.0


@lru_cache(maxsize=20_000)
def _trigrams(text: str) -> Counter[str]:
    flat = f" {' '.join(_WORD.findall(text.lower()))} "
    return Counter(flat[start : start + 3] for start in range(len(flat) - 2))


@lru_cache(maxsize=20_000)
def _square(text: str) -> int:
    return sum(count * count for count in _trigrams(text).values())
