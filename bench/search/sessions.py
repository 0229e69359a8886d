"""What stands beside an event in its session, and the session itself, as evidence for the event.

Only sessions of short turns are looked at so (``History.session_members``): a long text speaks for itself.
The weights were chosen on the first five of LoCoMo's ten dialogues; docs/retrieval.md names what they bring.
"""

from __future__ import annotations

import numpy as np

from bench.search.history import History, Scores, index_scores

BEFORE, AFTER, TWO_AWAY = 0.4, 0.25, 0.25  # an answer stands behind its question more often than before it
BEST_OF_SESSION, BEST_THREE = 0.4, 0.5
WINDOW_WORDS, SESSION_WORDS = 0.3, 0.2


def with_sessions(history: History, query: str, own: Scores) -> Scores:
    """``own`` (standardised scores of the events) plus what their neighbours and their sessions say."""
    total = own + WINDOW_WORDS * standardised(index_scores(history.window_index, query, len(history)))
    of_sessions = standardised(index_scores(history.session_index, query, len(history.session_members)))
    for rows, of_session in zip(history.session_members, of_sessions, strict=True):
        inside = own[rows]
        best = np.sort(inside)[-3:]
        total[rows] += (
            BEFORE * _moved(inside, 1) + AFTER * _moved(inside, -1)
            + TWO_AWAY * (_moved(inside, 2) + _moved(inside, -2))
            + BEST_OF_SESSION * best[-1] + BEST_THREE * best.mean() + SESSION_WORDS * of_session
        )  # fmt: skip
    return total


def _moved(scores: Scores, places: int) -> Scores:
    """Each place gets the score ``places`` before it; 0 (the mean) beyond the ends."""
    moved = np.zeros_like(scores)
    if places > 0:
        moved[places:] = scores[:-places]
    else:
        moved[:places] = scores[-places:]
    return moved


def standardised(scores: Scores) -> Scores:
    """Mean 0, standard deviation 1; all zeros where every score is the same."""
    spread = scores.std() if len(scores) else 0.0
    return (scores - scores.mean()) / spread if spread > 0 else np.zeros_like(scores)
