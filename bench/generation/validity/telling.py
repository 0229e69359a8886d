"""Readers that tell signal from noise, and cues from distractors, by how texts look: learned on dev, ranked on test."""

from __future__ import annotations

from bench.generation.validity.content import Content
from bench.generation.validity.record import KINDS, WAYS, Kind, Tokens
from bench.generation.validity.shortcut import MOST_AUC, Shortcut, area
from bench.generation.validity.word_reader import learn
from bench.models import Split


def telling_readers(content: Content) -> list[Shortcut]:
    return [tell(f"{name} by {way}", content, yes, no, tokens) for name, yes, no in KINDS for way, tokens in WAYS]


def tell(name: str, content: Content, yes: Kind, no: Kind, tokens: Tokens) -> Shortcut:
    dev, test = content.records_of(Split.DEV), content.records_of(Split.TEST)
    learned = [[tokens(record) for record in dev if kind(record)] for kind in (yes, no)]
    if not all(learned):
        return Shortcut(name, None, MOST_AUC, len(test), learned_on=Split.DEV)
    reader = learn(*learned)
    scored = ([(reader.score(tokens(r)), f"{r.channel}: {r.text}") for r in test if kind(r)] for kind in (yes, no))
    return area(name, *scored)
