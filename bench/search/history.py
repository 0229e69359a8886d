"""One persona's visible history in memory: what the lexical side and the fusion work on."""

from __future__ import annotations

import logging
import math
import re
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, lru_cache

import bm25s
import numpy as np
import Stemmer
from bm25s.stopwords import STOPWORDS_EN
from numpy.typing import NDArray

from bench.caching import made_once
from bench.models import Event
from bench.search.pieces import PIECE, pieces_of

logging.getLogger("bm25s").setLevel(logging.WARNING)  # it sets itself to DEBUG on import

Scores = NDArray[np.float64]
Rows = NDArray[np.int64]
Allowed = NDArray[np.bool_]  # one a row of the history
# The usual values of BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009); never tuned here.
K1, B = 1.2, 0.75
_TOKEN = re.compile(r"\w+")
_SPEAKER = re.compile(r"^([^\W\d_][^:\n]{0,40}): ")
_STOP = frozenset(STOPWORDS_EN)
_local = threading.local()


@lru_cache(maxsize=50_000)  # the texts of a persona stand in the histories of many tasks
def tokens(text: str) -> tuple[str, ...]:
    """Lower-case stems without stop words."""
    if not hasattr(_local, "stemmer"):
        _local.stemmer = Stemmer.Stemmer("english")
    words = [word for word in _TOKEN.findall(text.lower()) if word not in _STOP]
    return tuple(_local.stemmer.stemWords(words))


@dataclass(frozen=True)
class History:
    """Events in order of time, all before one moment. Rows of every array are these events."""

    persona_id: int
    ids: NDArray[np.int64]
    times: NDArray[np.float64]  # seconds since the epoch
    channels: tuple[str, ...]
    sessions: tuple[str, ...]
    texts: tuple[str, ...]
    moments: tuple[datetime, ...]
    hidden: str = ""  # the domain whose events are left out

    def __len__(self) -> int:
        return len(self.texts)

    def between(self, since: datetime | None, until: datetime | None) -> Allowed:
        """The rows of this span of time, its ends included; None: open."""
        allowed = np.ones(len(self), dtype=bool)
        if since is not None:
            allowed &= self.times >= since.timestamp()
        if until is not None:
            allowed &= self.times <= until.timestamp()
        return allowed

    @cached_property
    def speakers(self) -> NDArray[np.str_]:
        """Who a text says to be speaking ("Ben: ..."), in lower case; "" of most."""
        named = (_SPEAKER.match(text) for text in self.texts)
        return np.array([match[1].lower() if match else "" for match in named])

    @cached_property
    def lexical(self) -> bm25s.BM25 | None:
        """Built over these events only, so that later ones do not even weigh on word frequencies."""
        return _index(self.stems)

    @cached_property
    def stems(self) -> list[tuple[str, ...]]:
        return [tokens(text) for text in self.texts]

    @cached_property
    def window_index(self) -> bm25s.BM25 | None:
        """Each event together with the one before and the one after it in its session."""
        corpus = list(self.stems)
        for rows in self.session_members:
            for place, row in enumerate(rows):
                near = rows[max(0, place - 1) : place + 2]
                corpus[row] = tuple(stem for other in near for stem in self.stems[other])
        return _index(corpus)

    @cached_property
    def session_index(self) -> bm25s.BM25 | None:
        """One document a session, in the order of ``session_members``."""
        return _index([tuple(stem for row in rows for stem in self.stems[row]) for rows in self.session_members])

    @cached_property
    def session_members(self) -> tuple[NDArray[np.int64], ...]:
        """Row numbers of each named session of two or more short turns; long texts speak for themselves."""
        groups: dict[str, list[int]] = {}
        for row, session in enumerate(self.sessions):
            if session:
                groups.setdefault(session, []).append(row)
        return tuple(np.array(rows) for rows in groups.values() if len(rows) > 1 and self._are_short(rows))

    @property
    def is_long(self) -> bool:
        """A text does not fit into one piece, on the average."""
        return not self._are_short(range(len(self)))

    @cached_property
    def of_pieces(self) -> History:
        """The pieces of all events in place of the events, in order; without sessions."""
        counts = [len(pieces) for pieces in self._pieces]
        return replace(
            self,
            ids=self.ids.repeat(counts),
            times=self.times.repeat(counts),
            channels=tuple(np.repeat(self.channels, counts).tolist()),
            sessions=("",) * sum(counts),
            texts=tuple(piece for pieces in self._pieces for piece in pieces),
            moments=tuple(moment for moment, count in zip(self.moments, counts, strict=True) for _ in range(count)),
        )

    @cached_property
    def first_pieces(self) -> NDArray[np.int64]:
        """Where each event's pieces begin in ``of_pieces``."""
        counts = [len(pieces) for pieces in self._pieces]
        return np.cumsum([0, *counts[:-1]])

    @cached_property
    def _pieces(self) -> list[list[str]]:
        return [pieces_of(text) for text in self.texts]

    def _are_short(self, rows: Sequence[int]) -> bool:
        """A text of the session fits into one piece, on the average."""
        return sum(len(self.texts[row]) for row in rows) <= PIECE * len(rows)

    def lexical_scores(self, query: str) -> Scores:
        """BM25 of every event, 0 where no word is shared."""
        return index_scores(self.lexical, query, len(self))

    def lexical_share(self, query: str) -> Scores:
        """How much of the query each event says: 1 for a text of average length with each of its words once.

        Words that no event holds count as asked for, too.
        """
        total = sum(self._rarity(word) for word in tokens(query))
        return self.lexical_scores(query) * ((1 + K1) / total if total else 0.0)

    def _rarity(self, word: str) -> float:
        """The weight (idf) that the index gives to a word."""
        held = self.holding[word]
        return math.log(1 + (len(self) - held + 0.5) / (held + 0.5))

    @cached_property
    def holding(self) -> Counter[str]:
        """Word -> how many events hold it."""
        return Counter(word for stems in self.stems for word in set(stems))


def best_rows(scores: Scores, allowed: Allowed, k: int) -> Rows:
    """The ``k`` best of the allowed rows, best first; ties go to the later row."""
    rows = np.flatnonzero(allowed)
    return rows[np.lexsort((-rows, -scores[rows]))][:k]  # lexsort: last key first


def index_scores(index: bm25s.BM25 | None, query: str, size: int) -> Scores:
    """BM25 of each of the ``size`` documents; 0 where the query shares no word, and without an index."""
    known = [word for word in tokens(query) if word in index.vocab_dict] if index is not None else []
    if index is None or not known:
        return np.zeros(size)
    return np.asarray(index.get_scores(known), dtype=np.float64)


def _index(corpus: list[tuple[str, ...]]) -> bm25s.BM25 | None:
    """None where no document has a word."""
    if not any(corpus):
        return None
    index = bm25s.BM25(method="lucene", k1=K1, b=B)
    index.index([list(document) for document in corpus], show_progress=False)
    return index


@made_once(4096)
def load_history(persona_id: int, as_of: datetime | None, hidden: str = "") -> History:
    """The events that are visible at ``as_of`` (all for None). Cached: the events of a dataset version never change.

    ``hidden`` is a domain whose preferences no event may speak of, by the events' labels; "" hides nothing.
    """
    events = Event.objects.filter(persona_id=persona_id)
    if as_of is not None:
        events = events.visible(persona_id, as_of)
    last = events.order_by("-position").values_list("position", flat=True).first()
    return _load(persona_id, -1 if last is None else last, hidden)


@made_once(512)
def _load(persona_id: int, last_position: int, hidden: str) -> History:
    events = Event.objects.filter(persona_id=persona_id, position__lte=last_position)
    if hidden:
        events = events.exclude(label__dimension__startswith=f"{hidden}.")
    rows = list(events.order_by("position").values_list("pk", "occurred_at", "channel", "session", "text"))
    return History(
        persona_id=persona_id,
        ids=np.array([row[0] for row in rows], dtype=np.int64),
        times=np.array([row[1].timestamp() for row in rows], dtype=np.float64),
        channels=tuple(row[2] for row in rows),
        sessions=tuple(row[3] for row in rows),
        texts=tuple(row[4] for row in rows),
        moments=tuple(row[1] for row in rows),
        hidden=hidden,
    )


def forget() -> None:
    """Drop the cached histories; for tests and after an import."""
    load_history.cache_clear()  # type: ignore[attr-defined]
    _load.cache_clear()  # type: ignore[attr-defined]
