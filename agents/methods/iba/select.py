"""Redundancy removal and the selection of high-signal events: pure code over what the searches returned."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache
from statistics import fmean, pstdev

from agents.contract import Evidence, Limits
from agents.methods.iba.stages import Lane
from agents.toolkit.budget import tokens_of

NEAR_IN_TIME = timedelta(days=45)  # further apart, a repetition is news: the habit still holds
REMEMBERED = 20_000  # texts: one history is looked at by many tasks

_WORD = re.compile(r"[^\W\d_]+")

Hits = tuple[Evidence, ...]  # of one search, best first
Signals = dict[str, float]  # event id -> how well it fits; the higher, the better


@lru_cache(maxsize=REMEMBERED)
def words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text))


def same_message(one: Evidence, other: Evidence) -> bool:
    """Copies that differ in figures, order or case at most: one more word, such as "not", makes them two."""
    return abs(one.occurred_at - other.occurred_at) <= NEAR_IN_TIME and words(one.text) == words(other.text)


def folded(events: Sequence[Evidence]) -> dict[str, Evidence]:
    """Each event's id -> the event that stands for it: the newest of its copies, with the others as ``support``.

    The result does not depend on the order given.
    """
    kept: dict[str, list[Evidence]] = {}
    stands_for: dict[str, str] = {}
    support: dict[str, list[str]] = {}
    for event in sorted(events, key=lambda event: (event.occurred_at, event.event_id), reverse=True):
        if event.event_id in stands_for:
            continue
        key = " ".join(sorted(words(event.text)))
        newest = next((other for other in kept.get(key, []) if key and same_message(other, event)), event)
        stands_for[event.event_id] = newest.event_id
        if newest is event:
            kept.setdefault(key, []).append(event)
        else:
            support.setdefault(newest.event_id, []).append(event.event_id)
    whole = {
        event.event_id: replace(event, support=tuple(sorted({*event.support, *support.get(event.event_id, [])})))
        for group in kept.values() for event in group
    }  # fmt: skip
    return {event_id: whole[standing] for event_id, standing in stands_for.items()}


def fused(request: Hits, behaviours: Sequence[Hits]) -> Signals:
    """How well each event fits a thing that the request may hang on: the request's score and the best behaviour's.

    Contrasting behaviours are alternatives, so the best counts. Scores are in standard deviations of their search, so
    what no other event comes near counts much, and a request that tells nothing counts little. An event that a search
    did not bring counts as the worst that it brought.
    """
    asked, thought = _standardised(request), _best(behaviours)
    least, low = min(asked.values(), default=0.0), min(thought.values(), default=0.0)
    return {name: asked.get(name, least) + thought.get(name, low) for name in asked.keys() | thought.keys()}


def _best(searches: Sequence[Hits]) -> Signals:
    best: Signals = {}
    for hits in searches:
        for event_id, score in _standardised(hits).items():
            best[event_id] = max(score, best.get(event_id, score))
    return best


def _standardised(hits: Hits) -> Signals:
    scores = [hit.score for hit in hits]
    mean, spread = (fmean(scores), pstdev(scores)) if scores else (0.0, 0.0)
    return {hit.event_id: (hit.score - mean) / spread if spread else 0.0 for hit in hits}


class Basket:
    """What was taken so far: never more events or tokens than the budget, and no event twice."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._tokens = 0
        self._ids: set[str] = set()
        self.taken: list[Evidence] = []

    def __contains__(self, event: Evidence) -> bool:
        return event.event_id in self._ids

    def left(self, reserve: float = 0.0) -> int:
        """Events that may still come in while that share of the budget stays free."""
        return int(self._limits.evidence_events * (1 - reserve)) - len(self.taken)

    def take_turns(self, lanes: Sequence[Lane], most: int, reserve: float = 0.0) -> int:
        """Lanes give their best event in turn until ``most`` came in or nothing fits. Returns how many came in."""
        came, queues = 0, [(lane.name, list(reversed(lane.events))) for lane in lanes]
        while came < most and any(queue for _, queue in queues):
            for name, queue in queues:
                while queue and came < most:
                    if self._take(queue.pop(), name, reserve):
                        came += 1
                        break
        return came

    def _take(self, event: Evidence, aspect: str, reserve: float) -> bool:
        if not self.fits(event, reserve):
            return False
        self.taken.append(replace(event, aspect=aspect))
        self._ids.update((event.event_id, *event.support))
        self._tokens += tokens_of(event.text)
        return True

    def fits(self, event: Evidence, reserve: float = 0.0) -> bool:
        room = self._limits.evidence_tokens * (1 - reserve) - self._tokens
        return event not in self and self.left(reserve) > 0 and tokens_of(event.text) <= room
