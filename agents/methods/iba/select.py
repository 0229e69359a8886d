"""Redundancy removal and high-signal selection: pure code over what the searches returned."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache

from agents.contract import Evidence, Limits
from agents.toolkit.budget import tokens_of

SAME_TOKENS = 0.8  # Jaccard from which two texts are near copies
SAME_VECTOR = 0.97  # cosine from which they are
NEAR_IN_TIME = timedelta(days=45)  # further apart, a repetition is news: the habit still holds
STATE = "state"  # the topic of what holds for some days, whatever it bears on
STATE_SLOTS = 6
COUNTER_SLOTS = 2
REMEMBERED = 20_000  # texts: one history is looked at by many tasks
DIVERSITY = 0.3  # weight of MMR's penalty

_WORD = re.compile(r"[^\W_]+")
_NEGATION = re.compile(r"\b(?:no|not|never|nothing|without|\w+n't|hardly|stop(?:ped)?|quit|avoid)\b", re.IGNORECASE)
_CHANGE = re.compile(
    r"\b(?:used to|any ?more|no longer|these days|nowadays|lately|since|switched|changed|instead|from now on"
    r"|gave up|for once)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An event, the topic it was found for, and how well it fits there (higher is better)."""

    event: Evidence
    topic: str
    signal: float


@lru_cache(maxsize=REMEMBERED)
def words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text))


@lru_cache(maxsize=REMEMBERED)
def negated(text: str) -> bool:
    """Whether the text denies an odd number of times, the cheapest sign of its polarity."""
    return len(_NEGATION.findall(text)) % 2 == 1


def same_message(one: Evidence, other: Evidence) -> bool:
    """Near copies of one polarity and one time. Opposite polarity or far apart in time is never the same."""
    if abs(one.occurred_at - other.occurred_at) > NEAR_IN_TIME or negated(one.text) != negated(other.text):
        return False
    mine, theirs = words(one.text), words(other.text)
    overlap = len(mine & theirs) / max(len(mine | theirs), 1)
    return overlap >= SAME_TOKENS or cosine(one.vector, other.vector) >= SAME_VECTOR


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Of unit vectors; 0 where one is missing."""
    return sum(a * b for a, b in zip(one, other, strict=False)) if one and other else 0.0


def fold(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Near copies become ``support`` of the newest among them. Keeps the best signal; order of input is free."""
    kept: list[Candidate] = []
    for candidate in sorted(candidates, key=_newest_first):
        position = next((i for i, other in enumerate(kept) if same_message(other.event, candidate.event)), None)
        if position is None:
            kept.append(candidate)
            continue
        other = kept[position]
        if candidate.event.event_id == other.event.event_id:
            continue
        support = tuple(sorted({*other.event.support, candidate.event.event_id, *candidate.event.support}))
        kept[position] = replace(
            other, event=replace(other.event, support=support), signal=max(other.signal, candidate.signal)
        )
    return tuple(kept)


def choose(candidates: Sequence[Candidate], *, weights: Mapping[str, float], limits: Limits) -> tuple[Evidence, ...]:
    """The evidence to show, within the budget, oldest first.

    Slots first for states that still run and for counter-evidence, then turns among the
    topics by weight; within a topic the next one is chosen by signal less its likeness to those chosen (MMR).
    """
    basket = _Basket(limits)
    for candidate in _states(candidates)[:STATE_SLOTS]:
        basket.take(candidate)
    reserve = min(COUNTER_SLOTS, limits.evidence_events // 4)
    _fill_by_turns(candidates, weights, basket, leave=reserve)
    for candidate in _counter_evidence(candidates, basket.taken)[:reserve]:
        basket.take(candidate)
    _fill_by_turns(candidates, weights, basket, leave=0)
    return tuple(sorted((item.event for item in basket.taken), key=lambda event: (event.occurred_at, event.event_id)))


class _Basket:
    """What was taken so far, and whether one more fits."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._tokens = 0
        self.taken: list[Candidate] = []
        self._ids: set[str] = set()

    def room(self, leave: int) -> bool:
        return len(self.taken) < self._limits.evidence_events - leave

    def take(self, candidate: Candidate) -> bool:
        cost = tokens_of(candidate.event.text)
        fits = self.room(0) and self._tokens + cost <= self._limits.evidence_tokens
        if not fits or candidate.event.event_id in self._ids:
            return False
        self.taken.append(replace(candidate, event=replace(candidate.event, topic=candidate.topic)))
        self._ids.add(candidate.event.event_id)
        self._tokens += cost
        return True


def _fill_by_turns(
    candidates: Sequence[Candidate], weights: Mapping[str, float], basket: _Basket, *, leave: int
) -> None:
    """The topic that is furthest behind its share takes the next event, until the budget or the candidates end."""
    queues: dict[str, list[Candidate]] = {topic: [] for topic in weights}
    for candidate in candidates:
        queues.setdefault(candidate.topic, []).append(candidate)
    counts = dict.fromkeys(queues, 0)
    for item in basket.taken:
        counts[item.topic] = counts.get(item.topic, 0) + 1
    while basket.room(leave) and any(queues.values()):
        topic = min(
            (name for name, queue in queues.items() if queue),
            key=lambda name: ((counts[name] + 1) / max(weights.get(name, 0.5), 0.01), name),
        )
        best = max(queues[topic], key=lambda item: (_marginal(item, basket.taken), item.event.event_id))
        queues[topic].remove(best)
        counts[topic] += basket.take(best)


def _marginal(candidate: Candidate, taken: Sequence[Candidate]) -> float:
    likeness = max(
        (_likeness(candidate.event, item.event) for item in taken if item.topic == candidate.topic), default=0.0
    )
    return candidate.signal - DIVERSITY * likeness


def _likeness(one: Evidence, other: Evidence) -> float:
    mine, theirs = words(one.text), words(other.text)
    return len(mine & theirs) / max(len(mine | theirs), 1)


def _states(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those that may still run, the newest first."""
    return sorted((item for item in candidates if item.topic == STATE), key=_newest_first)


def _counter_evidence(candidates: Sequence[Candidate], taken: Sequence[Candidate]) -> list[Candidate]:
    """Events that speak against one taken for the same topic: newer, and of other polarity or with words of change."""
    against = []
    for candidate in candidates:
        rivals = [item for item in taken if item.topic == candidate.topic and item.event != candidate.event]
        newer = [item for item in rivals if item.event.occurred_at < candidate.event.occurred_at]
        turned = any(negated(item.event.text) != negated(candidate.event.text) for item in newer)
        if newer and (turned or _CHANGE.search(candidate.event.text)):
            against.append(candidate)
    return sorted(against, key=lambda item: (-item.signal, item.event.event_id))


def _newest_first(candidate: Candidate) -> tuple[float, str, str]:
    return (-candidate.event.occurred_at.timestamp(), candidate.event.event_id, candidate.topic)
