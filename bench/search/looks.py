"""The second look of the engine ``deep``: what the first one found says where to look more closely."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bench.search.history import History, Scores
from bench.search.sessions import standardised
from bench.search.similarity import cosines, cosines_of_pieces, first_vectors

# Chosen on generated dev personas (FOUND), and on LoCoMo's dialogues 1 to 5 with each session as one text (PIECES):
# see docs/retrieval.md.
FOUND = 5  # texts of the first look; their mean counts as much as the question
PIECES = 0.5  # in standard deviations, beside the first look


def look_again(history: History, query: str, vector: NDArray[np.float32], first: Scores) -> Scores:
    """``first`` (the scores of ``hybrid``) after a second look. ``vector``: that of the query.

    Turns of a dialogue are left as they are: their neighbours were heard already. In long texts words and meaning
    have to meet in one piece. Of short texts the best ones say what to look for beside the question (Rocchio,
    "Relevance feedback in information retrieval", 1971).
    """
    if history.session_members:
        return first
    if history.is_long:
        return standardised(first) + PIECES * standardised(_best_pieces(history, query, vector))
    best = np.argsort(-first, kind="stable")[:FOUND]
    moved = vector + first_vectors(history, best).mean(axis=0)
    return standardised(first) + standardised(cosines(history, moved))


def _best_pieces(history: History, query: str, vector: NDArray[np.float32]) -> Scores:
    """Of each event the best of its pieces, which are scored as ``hybrid`` scores events."""
    scores = history.of_pieces.lexical_share(query) + from_0_to_1(cosines_of_pieces(history, vector))
    best: Scores = np.maximum.reduceat(scores, history.first_pieces)
    return best


def from_0_to_1(scores: Scores) -> Scores:
    """The lowest is 0, the highest 1; all zeros where every score is the same."""
    span = np.ptp(scores) if len(scores) else 0.0
    return (scores - scores.min()) / span if span > 0 else np.zeros_like(scores)
