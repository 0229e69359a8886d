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
# Weights in standard deviations of the pool's scores, so that any engine's scale will do. On LoCoMo they lift
# evidence recall@10 from 0.737 and 0.727 (tuned and held-out half of the dialogues) to 0.760 and 0.745. A pass of
# feedback from the first hits' vectors was measured, too (-0.001 to -0.004), and left out.
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
    longer = _standardised([math.log(1 + len(hit.text)) for hit in looked_at])
    spoken = _speaker_marks(looked_at, query)
    scores = {
        hit.event_id: plain[row] + SPEAKER * spoken[row] + LENGTH * longer[row]
        - ASKS * hit.text.rstrip().endswith("?") + IN_WINDOW * (hit.event_id in inside)
        for row, hit in enumerate(looked_at)
    }  # fmt: skip
    order = sorted(looked_at, key=lambda hit: (-scores[hit.event_id], hit.event_id))
    return tuple(replace(hit, score=scores[hit.event_id]) for hit in order[:k])


def _speaker_marks(hits: Sequence[Evidence], query: str) -> list[int]:
    """1 where the question names the speaker of a text, less 1 where it names another speaker."""
    speakers = [match[1].lower() if (match := _SPEAKER.match(hit.text)) else "" for hit in hits]
    known = {name for name, count in Counter(speakers).items() if name and count >= TURNS}
    asked = {name for name in known if re.search(rf"\b{re.escape(name)}\b", query.lower())}
    return [(name in asked) - bool(asked - {name}) if name in known else 0 for name in speakers]


def _standardised(values: Sequence[float]) -> list[float]:
    mean = sum(values) / max(len(values), 1)
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / max(len(values), 1))
    return [(value - mean) / spread if spread > 1e-9 else 0.0 for value in values]
