"""A whole visible history against many queries at once, in memory; see ``agents.iba.comparing``."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from agents.contract import Evidence
from agents.iba.comparing import Comparison
from bench.models import EventVector
from bench.search.history import History, index_scores
from bench.search.vectors import embed_texts

KEPT = 48  # comparisons in memory: about 1 MB each for 500 events and 220 queries


def compare_history(history: History, queries: tuple[str, ...]) -> Comparison:
    """Every event of the history against every query. Raises LookupError where events have no vectors."""
    if not len(history):
        empty = np.zeros((0, len(queries)), np.float32)
        return Comparison((), empty, empty)
    key = (history.persona_id, int(history.ids[-1]), history.hidden, settings.EMBEDDINGS_MODEL, queries)
    with_history = _kept.get(key)
    if with_history is None:
        with_history = _compare(history, queries)
        _kept[key] = with_history
        while len(_kept) > KEPT:
            _kept.pop(next(iter(_kept)), None)
    return with_history


_kept: dict[tuple[int, int, str, str, tuple[str, ...]], Comparison] = {}


def _compare(history: History, queries: tuple[str, ...]) -> Comparison:
    vectors = _event_vectors(history)
    dense = vectors @ _query_matrix(settings.EMBEDDINGS_MODEL, queries).T
    lexical = np.stack([index_scores(history.lexical, query, len(history)) for query in queries], axis=1)
    events = tuple(
        Evidence(str(history.ids[row]), history.moments[row], history.channels[row], text)
        for row, text in enumerate(history.texts)
    )
    return Comparison(events, dense.astype(np.float32), lexical.astype(np.float32))


def _event_vectors(history: History) -> NDArray[np.float32]:
    rows = EventVector.objects.filter(
        persona_id=history.persona_id, model=settings.EMBEDDINGS_MODEL, event_id__lte=int(history.ids[-1])
    )
    found = dict(rows.values_list("event_id", "vector"))
    missing = [pk for pk in history.ids.tolist() if pk not in found]
    if missing:
        raise LookupError(
            f"{len(found)} of {len(history)} events of persona {history.persona_id} have vectors of "
            f"{settings.EMBEDDINGS_MODEL}; run `manage.py embed_events`"
        )
    return np.array([found[pk] for pk in history.ids.tolist()], dtype=np.float32)


@lru_cache(maxsize=8)
def _query_matrix(model: str, queries: tuple[str, ...]) -> NDArray[np.float32]:
    """(queries, d); ``model`` only keys the cache. They describe events, so they are embedded as events are."""
    return embed_texts(queries, kind="passage")


def forget_comparisons() -> None:
    """Drop what is kept; for tests and after an import."""
    _kept.clear()
