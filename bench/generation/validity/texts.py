"""Texts that are met twice, and cues that lie near the public description of what they show."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from bench.catalogue.words import content_stems
from bench.generation.validity.content import Content
from bench.generation.validity.record import SHOWING, SILENT, Record
from bench.generation.validity.shortcut import Credit, Shortcut, share
from bench.models import Split

MOST_SHARED = 0.10  # of the texts of the shorter of two histories
DESCRIBED = 0.10  # above chance
NEAREST = 0.60

Embed = Callable[[Sequence[str], bool], NDArray[np.float32]]  # texts, whether they are queries -> unit rows


def text_readers(content: Content, embed: Embed | None) -> list[Shortcut]:
    test = content.records_of(Split.TEST)
    return [
        between_splits("signal texts that stand in dev", content, [r for r in test if r.role not in SILENT]),
        between_splits("distractors that stand in dev", content, [r for r in test if r.role == "distractor"]),
        between_personas(content),
        described(content),
        nearest(content, embed),
    ]


def between_splits(name: str, content: Content, records: list[Record]) -> Shortcut:
    known = {record.text for record in content.records_of(Split.DEV)}
    credits = [Credit(f"{r.channel}: {r.text}", r.persona, float(r.text in known), 0.0) for r in records]
    return share(name, credits, limit=0.0, learned_on=Split.DEV)


def between_personas(content: Content) -> Shortcut:
    """The largest share of a history's texts that stands word for word in one other; n counts pairs."""
    texts: dict[str, set[str]] = defaultdict(set)
    holders: dict[str, set[str]] = defaultdict(set)
    for record in content.records:
        texts[record.persona].add(record.text)
        holders[record.text].add(record.persona)
    common = Counter(pair for people in holders.values() for pair in combinations(sorted(people), 2))
    shares = {(a, b): count / min(len(texts[a]), len(texts[b])) for (a, b), count in common.items()}
    over = sorted(((part, pair) for pair, part in shares.items() if part > MOST_SHARED), reverse=True)
    return Shortcut(
        "texts that two personas share, the largest share",
        max(shares.values(), default=0.0) if len(texts) > 1 else None,
        MOST_SHARED,
        len(texts) * (len(texts) - 1) // 2,
        offenders=tuple(f"{a} and {b}: {part:.2f}" for part, (a, b) in over),
        split="all",
    )


def described(content: Content) -> Shortcut:
    """For each cue the description that shares most content words with it."""
    stems = {d: {v: content_stems(text) for v, text in values.items()} for d, values in content.descriptions.items()}

    def credit(record: Record) -> Credit:
        cue, options = content_stems(record.text), stems[record.dimension]
        common = {value: len(cue & words) for value, words in options.items()}
        likeliest = [value for value, count in common.items() if count == max(common.values())]
        earned = (record.value in likeliest) / len(likeliest)
        return Credit(f"{record.dimension} = {record.value}: {record.text}", record.persona, earned, 1 / len(options))

    return share("cue to public description by words", [credit(r) for r in _cues(content)], margin=DESCRIBED)


def nearest(content: Content, embed: Embed | None) -> Shortcut:
    """For each cue the description whose vector is nearest, as a search finds it. Not measured without ``embed``."""
    cues = _cues(content)
    if embed is None or not cues:
        return Shortcut("cue to public description by embedding", None, NEAREST, len(cues))
    words = sorted({text for r in cues for text in content.descriptions[r.dimension].values()})
    texts = sorted({record.text for record in cues})
    asked, told = (dict(zip(part, embed(part, query), strict=True)) for part, query in ((words, True), (texts, False)))

    def credit(record: Record) -> Credit:
        options = content.descriptions[record.dimension]
        near = {value: float(asked[text] @ told[record.text]) for value, text in options.items()}
        earned = float(max(near, key=lambda value: near[value]) == record.value)
        return Credit(f"{record.dimension} = {record.value}: {record.text}", record.persona, earned, 1 / len(options))

    return share("cue to public description by embedding", [credit(r) for r in cues], limit=NEAREST)


def _cues(content: Content) -> list[Record]:
    return [r for r in content.records_of(Split.TEST) if r.role in SHOWING and content.descriptions.get(r.dimension)]
