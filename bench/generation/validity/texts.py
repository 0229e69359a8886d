"""Texts that are met twice, and cues that share words with the public description of what they show."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations

from bench.catalogue.words import content_stems
from bench.generation.validity.content import Content
from bench.generation.validity.record import SHOWING, SILENT, Record
from bench.generation.validity.shortcut import Credit, Shortcut, share
from bench.models import Split

MOST_SHARED = 0.10  # of the texts of the shorter of two histories
DESCRIBED = 0.10  # above chance


def text_readers(content: Content) -> list[Shortcut]:
    test = content.records_of(Split.TEST)
    return [
        between_splits("signal texts that stand in dev", content, [r for r in test if r.role not in SILENT]),
        between_splits("distractors that stand in dev", content, [r for r in test if r.role == "distractor"]),
        between_personas(content),
        described(content),
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

    cues = [r for r in content.records_of(Split.TEST) if r.role in SHOWING and stems.get(r.dimension)]
    return share("cue to public description by words", [credit(r) for r in cues], margin=DESCRIBED)
