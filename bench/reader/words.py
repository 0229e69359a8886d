"""Which options a text speaks for: those whose authored words stand in it, else those whose everyday words it uses.

``lexicon/<domain>.yaml`` says in which words people tell an option. They count where they stand; behind a negation they are
other words, as in the file. An hour of the clock counts for the option whose wording has it between its own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import yaml

from bench.caching import made_once
from bench.catalogue import Scenario
from bench.catalogue.words import content_stems, stems
from bench.reader import typed
from bench.reader.knowledge import Option, dimensions, fill, sentence, template
from bench.reader.orders import heard

SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_CLAUSE = re.compile(r"[,.:;!?()\n]|\bbut\b")
_NEGATION = re.compile(r"\b(?:no|not|never|without|neither|nor|cannot)\b|n['’]t\b|\b(?=(?:none|nothing|nobody)\b)")
_TIME = re.compile(r"\b(\d{1,2})[:.](\d{2})\b")
_LATER = re.compile(r"\b(?:after|later)\b")
_MARKS = {  # at the beginning of a line
    " tickbox ": re.compile(r"^\s*(?:[-*•]\s*)?(?:[☐□]|\[ ?\])", re.MULTILINE),
    " bullet ": re.compile(r"^\s*[-*•](?=\s)", re.MULTILINE),
}
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_LONGEST = 6  # words of a term

Term = tuple[str, ...]


def told(text: str, among: Sequence[str]) -> list[Option]:
    """The options that a constraint or a note states: those whose own sentence stands in it, else the likeliest one."""
    if heard(text) or typed.heard(text):
        return []
    own = [(d, v.slug) for d in among for v in dimensions()[d].values if sentence(d, v.slug) in text]
    if own:
        return own
    named = [d for d in among if text.casefold().startswith(f"{dimensions()[d].name.casefold()}:")]
    votes = Counter({(d, v): count for d in named or among for v, count in _votes(text, d).items()})
    best = [option for option, count in votes.items() if count == max(votes.values())]
    return best if len(best) == 1 else []


def served(text: str, dimension: str, scenario: Scenario | None, words: Mapping[str, str]) -> set[str]:
    """The options of a dimension that a text of a scenario speaks for. ``words``: what a request puts into its slots.

    A sentence that says more of another dimension counts only where no other sentence says anything of this one.
    """
    wordings = scenario.preferences if scenario and scenario.preferences else {dimension: dict[str, str]()}
    own = {v.slug for v in dimensions()[dimension].values if " ".join(v.description.split()) in text}
    own |= {v for v, said in wordings[dimension].items() if scenario and template(said, scenario).search(text)}
    if own:
        return own
    parts = SENTENCE.split(text)
    heard = {d: _heard(parts, d, {v: fill(said, words) for v, said in found.items()}) for d, found in wordings.items()}
    clear, faint = set[str](), set[str]()
    for votes, *every in zip(heard[dimension], *heard.values(), strict=True):
        most = max(votes.values(), default=0)
        found = {value for value, count in votes.items() if count == most > 0}
        if most < max(max(others.values(), default=0) for others in every):
            faint |= found
        else:
            clear |= found
    return clear or faint


def _heard(parts: Sequence[str], dimension: str, wordings: Mapping[str, str]) -> list[Counter[str]]:
    """For each sentence option -> how many terms speak for it, and hours, in sentences that share words with those."""
    hours = {value: span for value, wording in wordings.items() if (span := _span(wording))}
    about = frozenset().union(*(content_stems(wordings[value]) for value in hours))
    near = [part for part in parts if about & content_stems(part) and _times(part)] or parts
    found = [_votes(part, dimension) for part in parts]
    for part, votes in zip(parts, found, strict=True):
        for value, (first, last) in hours.items() if part in near else ():
            votes[value] += sum(first <= time <= last for time in _times(part))
    return found


def _times(text: str) -> list[int]:
    """The times of day that a text names, in minutes."""
    return [int(hour) * 60 + int(minute) for hour, minute in _TIME.findall(text)]


def _span(wording: str) -> tuple[int, int] | None:
    """The first and the last minute of the day that a wording allows; None where it names no hour."""
    named = _times(wording)
    if len(named) == 1:
        named = [named[0], 24 * 60] if _LATER.search(wording) else [0, named[0]]
    return (named[0], named[1]) if named else None


def _votes(text: str, dimension: str) -> Counter[str]:
    """Option -> how many of its terms a text uses."""
    known = lexicon().get(dimension, {})
    used = {term for clause in clauses(text) for term in _runs(clause) if term in known}
    return Counter(value for term in used for value in known[term])


@made_once()
def lexicon() -> dict[str, dict[Term, set[str]]]:
    """Dimension -> term -> the options that are told with it."""
    found: dict[str, dict[Term, set[str]]] = {}
    for path in sorted((Path(__file__).parent / "lexicon").glob("*.yaml")):
        for dimension, told_with in yaml.safe_load(path.read_text(encoding="utf-8")).items():
            for value, terms in told_with.items():
                for term in terms:
                    found.setdefault(dimension, {}).setdefault(clauses(term)[0], set()).add(value)
    return found


def _runs(clause: Term) -> Iterator[Term]:
    """Every run of words in a clause that may be a term."""
    for start in range(len(clause)):
        for end in range(start + 1, min(start + _LONGEST, len(clause)) + 1):
            yield clause[start:end]


@lru_cache(maxsize=4096)
def clauses(text: str) -> tuple[Term, ...]:
    """The stems of a text's words, clause by clause; marked where a negation stands before them in the clause."""
    plain = text.casefold()
    for name, mark in _MARKS.items():
        plain = mark.sub(name, plain)
    for number, word in enumerate(_NUMBERS):
        plain = re.sub(rf"\b{word}\b", str(number), plain)
    found = []
    for clause in _CLAUSE.split(plain):
        head, *negated = _NEGATION.split(clause)
        marked = [f"not {stem}" for part in negated for stem in stems(part)]
        found.append((*stems(head), *marked))
    return tuple(clause for clause in found if clause)
