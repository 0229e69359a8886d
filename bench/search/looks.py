"""The looks of the engines ``hybrid`` (one) and ``deep`` (another, where the first one says to look)."""

from __future__ import annotations

import numpy as np

from bench.search.history import History, Scores
from bench.search.sessions import standardised, with_sessions
from bench.search.similarity import cosines, cosines_of_pieces
from bench.search.vectors import query_vector

# Chosen on generated dev personas (FOUND), and on LoCoMo's dialogues 1 to 5 with each session as one text (PIECES):
# see docs/retrieval.md.
FOUND = 5  # texts of the first look; their mean counts as much as the question
PIECES = 0.5  # in standard deviations, beside the first look


def hybrid_scores(history: History, query: str) -> Scores:
    """The share of the query that an event says, plus its place between the farthest (0) and the nearest event (1).

    So words count by how much of the question the events can say in its own words: one that is put in other
    words leaves the choice to the vectors. Where sessions are short turns, what stands beside an event counts too.
    """
    own = history.lexical_share(query) + from_0_to_1(cosines(history, query_vector(query)))
    return with_sessions(history, query, standardised(own)) if history.session_members else own


def look_again(history: History, query: str) -> Scores:
    """The scores of ``hybrid`` after a second look.

    Turns of a dialogue are left as they are: their neighbours were heard already. In long texts words and meaning
    have to meet in one piece. Of short texts the best ones say what to look for beside the question (Rocchio,
    "Relevance feedback in information retrieval", 1971).
    """
    first = hybrid_scores(history, query)
    if history.session_members:
        return first
    if history.is_long:
        return standardised(first) + PIECES * standardised(_best_pieces(history, query))
    best = np.argsort(-first, kind="stable")[:FOUND]
    return standardised(first) + standardised(cosines(history, query_vector(query), beside=best))


def _best_pieces(history: History, query: str) -> Scores:
    """Of each event the best of its pieces, which are scored as ``hybrid`` scores events."""
    scores = history.of_pieces.lexical_share(query) + from_0_to_1(cosines_of_pieces(history, query_vector(query)))
    best: Scores = np.maximum.reduceat(scores, history.first_pieces)
    return best


def from_0_to_1(scores: Scores) -> Scores:
    """The lowest is 0, the highest 1; all zeros where every score is the same."""
    span = np.ptp(scores) if len(scores) else 0.0
    return (scores - scores.min()) / span if span > 0 else np.zeros_like(scores)
