"""The search engine ``deep``: a second, closer look at what a question's hybrid search found. It asks no model."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime

import numpy as np

from bench.search.history import Allowed, History, Rows, Scores, best_rows
from bench.search.sessions import standardised
from bench.search.windows import search_window

POOL = 200
# Weights in standard deviations of the pool's scores, so that any engine's scale will do. The features were chosen on
# all ten of LoCoMo's dialogues, their weights on the first five: see docs/retrieval.md.
SPEAKER = 0.18  # the question names who speaks; as much less where it names somebody else
ASKS = 0.18  # a text that ends by asking tells less
LENGTH = 0.18  # for each standard deviation of the logarithm: a longer text tells more
IN_WINDOW = 0.9  # within the time that the question names
TURNS = 5  # texts that somebody begins with a name and a colon, from which on that is a speaker


def look_closer(
    history: History, query: str, scores: Scores, *, k: int, allowed: Allowed, now: datetime
) -> tuple[Rows, Scores]:
    """The ``k`` best of the ``allowed`` rows and what they score, best first. ``scores``: of the looks before."""
    looked_at = best_rows(scores, allowed, max(POOL, k))
    window = search_window(query, now)
    inside = best_rows(scores, allowed & history.between(*window), k) if window is not None else looked_at[:0]
    looked_at = np.union1d(looked_at, inside)
    closer = standardised(scores[looked_at]) + IN_WINDOW * np.isin(looked_at, inside)
    closer += _of_turns(history, looked_at, query)
    order = best_rows(closer, np.ones(len(closer), dtype=bool), k)
    return looked_at[order], closer[order]


def _of_turns(history: History, rows: Rows, query: str) -> Scores:
    """What being a turn of a dialogue adds to each row. Other texts are left as they are."""
    names = history.speakers[rows]
    added = np.zeros(len(rows))
    known = {name for name, count in Counter(names.tolist()).items() if name and count >= TURNS}
    if not known:
        return added
    turns = np.isin(names, list(known))
    asked = {name for name in known if re.search(rf"\b{re.escape(name)}\b", query.lower())}
    spoken = np.array([(name in asked) - bool(asked - {name}) for name in names[turns]])
    texts = [history.texts[row] for row in rows[turns]]
    asks = np.array([text.rstrip().endswith("?") for text in texts])
    longer = standardised(np.log1p([len(text) for text in texts]))
    added[turns] = SPEAKER * spoken + LENGTH * longer - ASKS * asks
    return added
