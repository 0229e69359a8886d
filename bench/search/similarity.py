"""Cosines of a vector with a persona's events, by an exact scan in PostgreSQL."""

from __future__ import annotations

import numpy as np
from django.conf import settings
from django.db import connection
from numpy.typing import NDArray
from pgvector import Vector

from bench.search.history import History, Rows, Scores

# All similarities of one persona in one row: cheaper than thousands of rows. The best piece speaks for its event.
_EVENTS = """
    SELECT array_agg(best ORDER BY event_id) FROM (
        SELECT event_id, max(1 - (vector <=> {place})) AS best FROM bench_eventvector WHERE {visible} GROUP BY event_id
    ) AS events
"""
_PIECES = "SELECT array_agg(1 - (vector <=> {place}) ORDER BY event_id, piece) FROM bench_eventvector WHERE {visible}"
_VISIBLE = "persona_id = %(persona)s AND model = %(model)s AND event_id <= %(last)s"
_OF_THESE = " AND event_id = ANY(%(shown)s)"
_VECTOR = "%(vector)s::vector"
# Where a query and the mean of some events' first pieces add up to.
_BESIDE = """(%(vector)s::vector + (
    SELECT avg(vector) FROM bench_eventvector
    WHERE persona_id = %(persona)s AND model = %(model)s AND piece = 0 AND event_id = ANY(%(beside)s)
))"""


class VectorsMissing(Exception):
    """Events of the history were never embedded; the message says how to do it."""


def cosines(history: History, vector: NDArray[np.float32], *, beside: Rows | None = None) -> Scores:
    """Of every event's best piece, with the vector, or with its sum with the mean of the events ``beside``."""
    return _scan(_EVENTS, history, vector, len(history), "events", beside)


def cosines_of_pieces(history: History, vector: NDArray[np.float32]) -> Scores:
    """Of every piece of every event, in the order of ``history.of_pieces``."""
    return _scan(_PIECES, history, vector, len(history.of_pieces), "pieces")


def _scan(
    sql: str, history: History, vector: NDArray[np.float32], expected: int, what: str, beside: Rows | None = None
) -> Scores:
    values = {
        "vector": Vector(vector).to_text(),
        "persona": history.persona_id,
        "model": settings.EMBEDDINGS_MODEL,
        "last": int(history.ids[-1]),
        "shown": history.ids.tolist() if history.hidden else [],
        "beside": [] if beside is None else history.ids[beside].tolist(),
    }
    place, visible = _VECTOR if beside is None else _BESIDE, _VISIBLE + _OF_THESE * bool(history.hidden)
    with connection.cursor() as cursor:
        cursor.execute(sql.format(place=place, visible=visible), values)
        found = cursor.fetchone()[0]
    have = 0 if found is None else len(found)
    if have != expected:
        raise VectorsMissing(
            f"{have} of {expected} {what} of persona {history.persona_id} have vectors of "
            f"{settings.EMBEDDINGS_MODEL}; run `manage.py embed_events`"
        )
    return np.asarray(found, dtype=np.float64)
