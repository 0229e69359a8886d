"""The search engine ``deep``: a second, closer look at what a question's hybrid search found. It asks no model."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from agents.contract import Engine, Evidence, Search
from bench.search.windows import search_window

POOL = 200
# Weights in standard deviations of the pool's scores, so that any engine's scale will do. The features were chosen on
# all ten of LoCoMo's dialogues, their weights on the first five: see docs/retrieval.md.
SPEAKER = 0.18  # the question names who speaks; as much less where it names somebody else
ASKS = 0.18  # a text that ends by asking tells less
LENGTH = 0.18  # for each standard deviation of the logarithm: a longer text tells more
IN_WINDOW = 0.9  # within the time that the question names
TURNS = 5  # texts that somebody begins with a name and a colon, from which on that is a speaker

_SPEAKER = re.compile(r"^([^\W\d_][^:\n]{0,40}): ")


def deep_search(query: str, search: Search, k: int, now: datetime) -> tuple[Evidence, ...]:
    """The ``k`` best events for ``query``, best first."""
    pool = {hit.event_id: hit for hit in search(query, k=max(POOL, k), engine=Engine.HYBRID)}
    window = search_window(query, now)
    inside: set[str] = set()
    if window is not None:
        hits = search(query, k=k, engine=Engine.HYBRID, since=window[0], until=window[1])
        inside = {hit.event_id for hit in hits}
        pool = {**{hit.event_id: hit for hit in hits}, **pool}
    looked_at = tuple(pool.values())
    plain = _standardised([hit.score for hit in looked_at])
    spoken = _turns(looked_at, query)
    scores = {
        hit.event_id: plain[row] + spoken.get(hit.event_id, 0.0) + IN_WINDOW * (hit.event_id in inside)
        for row, hit in enumerate(looked_at)
    }
    order = sorted(looked_at, key=lambda hit: (-scores[hit.event_id], hit.event_id))
    return tuple(replace(hit, score=scores[hit.event_id]) for hit in order[:k])


def _turns(hits: Sequence[Evidence], query: str) -> dict[str, float]:
    """Event -> what its being a turn of a dialogue adds. Other texts are in it nowhere: they are left as they are."""
    names = {hit.event_id: match[1].lower() for hit in hits if (match := _SPEAKER.match(hit.text))}
    known = {name for name, count in Counter(names.values()).items() if count >= TURNS}
    turns = [hit for hit in hits if names.get(hit.event_id) in known]
    asked = {name for name in known if re.search(rf"\b{re.escape(name)}\b", query.lower())}
    longer = _standardised([math.log(1 + len(turn.text)) for turn in turns])
    added = {}
    for turn, length in zip(turns, longer, strict=True):
        name = names[turn.event_id]
        spoken = (name in asked) - bool(asked - {name})
        added[turn.event_id] = SPEAKER * spoken + LENGTH * length - ASKS * turn.text.rstrip().endswith("?")
    return added


def _standardised(values: Sequence[float]) -> list[float]:
    mean = sum(values) / max(len(values), 1)
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / max(len(values), 1))
    return [(value - mean) / spread if spread > 1e-9 else 0.0 for value in values]
