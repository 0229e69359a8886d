"""The engines behind one function. The same budget holds for every caller: ``k`` events, not more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from django.db import DatabaseError, InterfaceError

from agents.contract import Engine, Evidence, SearchUnavailable, ServiceAway
from agents.model.embeddings import EmbeddingError, EmbeddingUnavailable
from bench.database import is_away, release_connection
from bench.search.deep import look_closer
from bench.search.history import History, Rows, Scores, best_rows, load_history
from bench.search.looks import hybrid_scores, look_again
from bench.search.similarity import VectorsMissing, cosines
from bench.search.vectors import EmbeddingsMissing, query_vector


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
    allowed = history.between(since, until)
    if query.strip() and engine is Engine.DEEP:
        now = as_of or history.moments[-1]
        return _evidence(
            history, *look_closer(history, query, look_again(history, query), k=k, allowed=allowed, now=now)
        )
    scores = _score(history, query, engine) if query.strip() else history.times
    rows = best_rows(scores, allowed, k)
    return _evidence(history, rows, scores[rows])


def _score(history: History, query: str, engine: Engine) -> Scores:
    if engine is Engine.BM25:
        return history.lexical_scores(query)
    if engine is Engine.DENSE:
        return cosines(history, query_vector(query))
    return hybrid_scores(history, query)


def _evidence(history: History, rows: Rows, scores: Scores) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(
            event_id=str(history.ids[row]),
            occurred_at=history.moments[row],
            channel=history.channels[row],
            text=history.texts[row],
            score=score,
        )
        for row, score in zip(rows.tolist(), scores.tolist(), strict=True)
    )
