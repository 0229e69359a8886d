"""Embeddings with a cache by text, and the vectors of events beside their persona."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np
from django.conf import settings
from django.db import transaction
from numpy.typing import NDArray

from agents.model.embeddings import EmbeddingClient, Kind
from bench.caching import made_once
from bench.models import Event, EventVector, TextVector
from bench.search.pieces import pieces_of
from bench.services import services
from bench.texts import text_sha256

Vectors = NDArray[np.float32]
CHUNK = 256


class EmbeddingsMissing(Exception):
    """No embedding endpoint is known; the message says how to get one."""


_local = threading.local()


@lru_cache(maxsize=4)
def _client(url: str, model: str, key: str) -> EmbeddingClient:
    return EmbeddingClient(url, model, key)


def client() -> EmbeddingClient:
    url = services().embeddings_url()
    if not url:
        raise EmbeddingsMissing(
            "no embedding endpoint: run `python -m iba_site.services start embeddings`, or set EMBEDDINGS_URL"
        )
    return _client(url, settings.EMBEDDINGS_MODEL, settings.EMBEDDINGS_API_KEY)


def embed_texts(texts: Sequence[str], *, kind: Kind, progress: Callable[[int, int], None] | None = None) -> Vectors:
    """float32 (n, d), unit rows, in the order of ``texts``. What was embedded once is read from the cache.

    A killed process loses at most one chunk: each chunk is stored when it arrives.
    """
    by_sha = {text_sha256(text): text for text in texts}
    known = _cached(list(by_sha), kind)
    missing = [sha for sha in by_sha if sha not in known]
    for at in range(0, len(missing), CHUNK):
        part = missing[at : at + CHUNK]
        rows = client().embed([by_sha[sha] for sha in part], kind=kind)
        _store(part, rows, kind)
        known.update(zip(part, rows, strict=True))
        if progress is not None:
            progress(min(at + CHUNK, len(missing)), len(missing))
    return np.array([known[text_sha256(text)] for text in texts], dtype=np.float32)


def _cached(shas: Sequence[str], kind: Kind) -> dict[str, NDArray[np.float32]]:
    rows = TextVector.objects.filter(model=settings.EMBEDDINGS_MODEL, kind=kind, text_sha256__in=shas)
    return {sha: np.asarray(vector, dtype=np.float32) for sha, vector in rows.values_list("text_sha256", "vector")}


def _store(shas: Sequence[str], rows: Vectors, kind: Kind) -> None:
    model = settings.EMBEDDINGS_MODEL
    TextVector.objects.bulk_create(
        (TextVector(model=model, kind=kind, text_sha256=s, vector=v) for s, v in zip(shas, rows, strict=True)),
        ignore_conflicts=True,
    )


def index_events(persona_ids: Iterable[int], *, progress: Callable[[int, int], None] | None = None) -> int:
    """Give every event of the personas its vectors. Returns how many were new. Safe to run again after a kill."""
    model = settings.EMBEDDINGS_MODEL
    lacking = Event.objects.filter(persona_id__in=list(persona_ids)).exclude(
        pk__in=EventVector.objects.filter(model=model).values("event_id")
    )
    rows = list(lacking.order_by("pk").values_list("pk", "persona_id", "text"))
    if not rows:
        return 0
    parts = [
        (event, persona, piece, part) for event, persona, text in rows for piece, part in enumerate(pieces_of(text))
    ]
    vectors = embed_texts([part for *_, part in parts], kind="passage", progress=progress)
    with transaction.atomic():  # an event has all of its pieces or none
        EventVector.objects.bulk_create(
            (
                EventVector(event_id=event, persona_id=persona, model=model, piece=piece, vector=vector)
                for (event, persona, piece, _), vector in zip(parts, vectors, strict=True)
            ),
            batch_size=1000,
            ignore_conflicts=True,
        )
    return len(rows)


@made_once(4096)
def query_vector(text: str) -> NDArray[np.float32]:
    """The query's unit vector (d,), from the cache where it was asked before."""
    return np.asarray(embed_texts([text], kind="query")[0])
