"""Cosines of a vector with a persona's events, by an exact scan in PostgreSQL."""

from __future__ import annotations

import numpy as np
from django.conf import settings
from django.db import connection
from numpy.typing import NDArray
from pgvector import Vector

from bench.models import EventVector
from bench.search.history import History, Scores
from bench.search.vectors import Vectors

# All similarities of one persona in one row: cheaper than thousands of rows. The best piece speaks for its event.
_EVENTS = """
    SELECT array_agg(best ORDER BY event_id) FROM (
        SELECT event_id, max(1 - (vector <=> %s::vector)) AS best
        FROM bench_eventvector WHERE persona_id = %s AND model = %s AND event_id <= %s {}
        GROUP BY event_id
    ) AS events
"""
_PIECES = """
    SELECT array_agg(1 - (vector <=> %s::vector) ORDER BY event_id, piece)
    FROM bench_eventvector WHERE persona_id = %s AND model = %s AND event_id <= %s {}
"""
_OF_THESE = "AND event_id = ANY(%s)"


class VectorsMissing(Exception):
    """Events of the history were never embedded; the message says how to do it."""


def cosines(history: History, vector: NDArray[np.float32]) -> Scores:
    """Of every event's best piece."""
    return _scan(_EVENTS, history, vector, len(history), "events")


def cosines_of_pieces(history: History, vector: NDArray[np.float32]) -> Scores:
    """Of every piece of every event, in the order of ``history.of_pieces``."""
    return _scan(_PIECES, history, vector, len(history.of_pieces), "pieces")


def first_vectors(history: History, rows: NDArray[np.int64]) -> Vectors:
    """The vectors of the first pieces of these events, in no order."""
    found = EventVector.objects.filter(
        persona_id=history.persona_id, model=settings.EMBEDDINGS_MODEL, event_id__in=history.ids[rows].tolist(), piece=0
    )
    return np.array(list(found.values_list("vector", flat=True)), dtype=np.float32)


def _scan(sql: str, history: History, vector: NDArray[np.float32], expected: int, what: str) -> Scores:
    parameters = (Vector(vector).to_text(), history.persona_id, settings.EMBEDDINGS_MODEL, int(history.ids[-1]))
    with connection.cursor() as cursor:
        if history.hidden:
            cursor.execute(sql.format(_OF_THESE), (*parameters, history.ids.tolist()))
        else:
            cursor.execute(sql.format(""), parameters)
        found = cursor.fetchone()[0]
    have = 0 if found is None else len(found)
    if have != expected:
        raise VectorsMissing(
            f"{have} of {expected} {what} of persona {history.persona_id} have vectors of "
            f"{settings.EMBEDDINGS_MODEL}; run `manage.py embed_events`"
        )
    return np.asarray(found, dtype=np.float64)
