"""The engines behind one function. The same budget holds for every caller: ``k`` events, not more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from numpy.typing import NDArray
from pgvector import Vector

from agents.contract import Engine, Evidence, SearchUnavailable, ServiceAway
from agents.model.embeddings import EmbeddingError, EmbeddingUnavailable
from bench.database import is_away, release_connection
from bench.search.deep import deep_search
from bench.search.history import History, Scores, load_history
from bench.search.sessions import standardised, with_sessions
from bench.search.vectors import EmbeddingsMissing, query_vector

# All similarities of one persona in one row: cheaper than thousands of rows. The best piece speaks for its event.
_SIMILARITIES = """
    SELECT array_agg(best ORDER BY event_id) FROM (
        SELECT event_id, max(1 - (vector <=> %s::vector)) AS best
        FROM bench_eventvector WHERE persona_id = %s AND model = %s AND event_id <= %s {}
        GROUP BY event_id
    ) AS events
"""
_ALL = _SIMILARITIES.format("")
_OF_THESE = _SIMILARITIES.format("AND event_id = ANY(%s)")


class VectorsMissing(Exception):
    """Events of the history were never embedded; the message says how to do it."""


@dataclass(frozen=True)
class HistorySearch:
    """``agents.contract.Search`` for one persona up to one moment, without the events of the domain ``hidden``.

    What goes wrong on our side is raised as ServiceAway or SearchUnavailable, never counted against the agent.
    """

    persona_id: int
    as_of: datetime | None
    hidden: str = ""

    def __call__(
        self,
        query: str,
        *,
        k: int = 10,
        engine: Engine = Engine.HYBRID,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> tuple[Evidence, ...]:
        if k < 1:
            raise ValueError(f"k is {k}; ask for at least one event")
        with self._our_fault():
            history = load_history(self.persona_id, self.as_of, self.hidden)
            return search_history(history, self.as_of, query, k=k, engine=engine, since=since, until=until)

    @contextmanager
    def _our_fault(self) -> Iterator[None]:
        try:
            yield
        except (DatabaseError, InterfaceError, EmbeddingError, EmbeddingsMissing, VectorsMissing) as error:
            text = f"the history of persona {self.persona_id} cannot be searched: {error}"
            if isinstance(error, EmbeddingUnavailable | EmbeddingsMissing):
                raise ServiceAway("embeddings", text) from error
            if isinstance(error, DatabaseError | InterfaceError) and is_away(error):
                raise ServiceAway("PostgreSQL", text) from error
            raise SearchUnavailable(text) from error
        finally:
            release_connection()


def search_history(
    history: History,
    as_of: datetime | None,
    query: str,
    *,
    k: int,
    engine: Engine = Engine.HYBRID,
    since: datetime | None = None,
    until: datetime | None = None,
) -> tuple[Evidence, ...]:
    """The ``k`` best events, best first; ties go to the newer.

    ``as_of`` is the moment that words such as "last spring" are read from; None: the newest event's.
    """
    if not len(history):
        return ()
    allowed = _window(history, since, until)
    if not query.strip():
        scores = history.times.copy()
    elif engine is Engine.DEEP:
        return _deep(history, as_of, query, k, since, until)
    else:
        scores = _score(history, query, engine)
    return _best(history, scores, allowed, k)


def _deep(
    history: History, as_of: datetime | None, query: str, k: int, since: datetime | None, until: datetime | None
) -> tuple[Evidence, ...]:
    """Several searches folded into one, by the agents' own code; a window given here bounds each of them."""

    def within(
        query: str,
        *,
        k: int = 10,
        engine: Engine = Engine.HYBRID,
        since: datetime | None = since,
        until: datetime | None = until,
    ) -> tuple[Evidence, ...]:
        return search_history(history, as_of, query, k=k, engine=engine, since=since, until=until)

    return deep_search(query, within, k, as_of or history.moments[-1])


def _window(history: History, since: datetime | None, until: datetime | None) -> NDArray[np.bool_]:
    allowed = np.ones(len(history), dtype=bool)
    if since is not None:
        allowed &= history.times >= since.timestamp()
    if until is not None:
        allowed &= history.times <= until.timestamp()
    return allowed


def _score(history: History, query: str, engine: Engine) -> Scores:
    if engine is Engine.BM25:
        return history.lexical_scores(query)
    if engine is Engine.DENSE:
        return dense_scores(history, query)
    return hybrid_scores(history, query)


def dense_scores(history: History, query: str) -> Scores:
    """Cosine of every event's best piece, by an exact scan of the persona's vectors in PostgreSQL."""
    vector = Vector(query_vector(query)).to_text()
    parameters = (vector, history.persona_id, settings.EMBEDDINGS_MODEL, int(history.ids[-1]))
    with connection.cursor() as cursor:
        if history.hidden:
            cursor.execute(_OF_THESE, (*parameters, history.ids.tolist()))
        else:
            cursor.execute(_ALL, parameters)
        found = cursor.fetchone()[0]
    if found is None or len(found) != len(history):
        have = 0 if found is None else len(found)
        raise VectorsMissing(
            f"{have} of {len(history)} events of persona {history.persona_id} have vectors of "
            f"{settings.EMBEDDINGS_MODEL}; run `manage.py embed_events`"
        )
    return np.asarray(found, dtype=np.float64)


def hybrid_scores(history: History, query: str) -> Scores:
    """The share of the query that an event says, plus its place between the farthest (0) and the nearest event (1).

    So words count by how much of the question the events can say in its own words: one that is put in other
    words leaves the choice to the vectors. Where sessions are short turns, what stands beside an event counts too.
    """
    own = history.lexical_share(query) + from_0_to_1(dense_scores(history, query))
    return with_sessions(history, query, standardised(own)) if history.session_members else own


def from_0_to_1(scores: Scores) -> Scores:
    """The lowest is 0, the highest 1; all zeros where every score is the same."""
    span = np.ptp(scores) if len(scores) else 0.0
    return (scores - scores.min()) / span if span > 0 else np.zeros_like(scores)


def _best(history: History, scores: Scores, allowed: NDArray[np.bool_], k: int) -> tuple[Evidence, ...]:
    rows = np.flatnonzero(allowed)
    # lexsort: last key first; newest first among equals.
    order = rows[np.lexsort((-rows, -scores[rows]))][:k]
    return tuple(
        Evidence(
            event_id=str(history.ids[row]),
            occurred_at=history.moments[row],
            channel=history.channels[row],
            text=history.texts[row],
            score=float(scores[row]),
        )
        for row in order
    )
