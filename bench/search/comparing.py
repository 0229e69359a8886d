"""A whole visible history against many queries at once, in memory; see ``agents.toolkit.comparing``."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from django.conf import settings
from django.db import connection
from numpy.typing import NDArray

from agents.contract import Evidence
from agents.toolkit.comparing import Comparison
from bench.search.history import History, index_table
from bench.search.vectors import embed_texts

KEPT = 48  # comparisons, and personas' vectors, in memory: about 1 MB each for 500 events and 220 queries


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
    lexical = index_table(history.lexical, queries, len(history))
    events = tuple(
        Evidence(str(history.ids[row]), history.moments[row], history.channels[row], text)
        for row, text in enumerate(history.texts)
    )
    return Comparison(events, dense.astype(np.float32), lexical)


def _event_vectors(history: History) -> NDArray[np.float32]:
    key = (history.persona_id, settings.EMBEDDINGS_MODEL)
    ids, vectors = _vectors.get(key) or _read_vectors(*key)
    if not np.isin(history.ids, ids).all():  # embedded since, or not yet
        ids, vectors = _read_vectors(*key)
    missing = int((~np.isin(history.ids, ids)).sum())
    if missing:
        raise LookupError(
            f"{len(history) - missing} of {len(history)} events of persona {history.persona_id} have vectors of "
            f"{settings.EMBEDDINGS_MODEL}; run `manage.py embed_events`"
        )
    _vectors[key] = ids, vectors
    while len(_vectors) > KEPT:
        _vectors.pop(next(iter(_vectors)), None)
    return vectors[np.searchsorted(ids, history.ids)]


_Vectors = tuple[NDArray[np.int64], NDArray[np.float32]]
_vectors: dict[tuple[int, str], _Vectors] = {}


def _read_vectors(persona_id: int, model: str) -> _Vectors:
    """The persona's event ids in order, and one vector a row; read in pgvector's binary form."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT event_id, vector_send(vector) FROM bench_eventvector WHERE persona_id = %s AND model = %s "
            "ORDER BY event_id",
            [persona_id, model],
        )
        found = cursor.fetchall()
    # Two bytes each for the dimension and for nothing, then big-endian floats.
    rows = [np.frombuffer(vector, ">f4", offset=4) for _, vector in found]
    vectors = np.array(rows, dtype=np.float32).reshape(len(rows), -1)
    return np.array([pk for pk, _ in found], dtype=np.int64), vectors


@lru_cache(maxsize=8)
def _query_matrix(model: str, queries: tuple[str, ...]) -> NDArray[np.float32]:
    """(queries, d); ``model`` only keys the cache. They describe events, so they are embedded as events are."""
    return embed_texts(queries, kind="passage")


def forget_comparisons() -> None:
    """Drop what is kept; for tests and after an import."""
    _kept.clear()
    _vectors.clear()
