"""The engines behind one function. The same budget holds for every caller: ``k`` events, not more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from django.db import DatabaseError, InterfaceError
from numpy.typing import NDArray

from agents.contract import Engine, Evidence, SearchUnavailable, ServiceAway
from agents.model.embeddings import EmbeddingError, EmbeddingUnavailable
from bench.database import is_away, release_connection
from bench.search.deep import deep_search
from bench.search.history import History, Scores, load_history
from bench.search.looks import from_0_to_1, look_again
from bench.search.sessions import standardised, with_sessions
from bench.search.similarity import VectorsMissing, cosines
from bench.search.vectors import EmbeddingsMissing, query_vector

Allowed = NDArray[np.bool_]  # one a row of the history


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
        return _deep(history, as_of, query, k, allowed)
    else:
        scores = _score(history, query, engine)
    return _best(history, scores, allowed, k)


def _deep(history: History, as_of: datetime | None, query: str, k: int, allowed: Allowed) -> tuple[Evidence, ...]:
    """Looks at what ``hybrid`` finds once more. No look goes beyond the events that are ``allowed``."""
    scores = look_again(history, query, query_vector(query), hybrid_scores(history, query))

    def within(
        query: str,
        *,
        k: int = 10,
        engine: Engine = Engine.DEEP,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> tuple[Evidence, ...]:
        return _best(history, scores, allowed & _window(history, since, until), k)

    return deep_search(query, within, k, as_of or history.moments[-1])


def _window(history: History, since: datetime | None, until: datetime | None) -> Allowed:
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
        return cosines(history, query_vector(query))
    return hybrid_scores(history, query)


def hybrid_scores(history: History, query: str) -> Scores:
    """The share of the query that an event says, plus its place between the farthest (0) and the nearest event (1).

    So words count by how much of the question the events can say in its own words: one that is put in other
    words leaves the choice to the vectors. Where sessions are short turns, what stands beside an event counts too.
    """
    own = history.lexical_share(query) + from_0_to_1(cosines(history, query_vector(query)))
    return with_sessions(history, query, standardised(own)) if history.session_members else own


def _best(history: History, scores: Scores, allowed: Allowed, k: int) -> tuple[Evidence, ...]:
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
