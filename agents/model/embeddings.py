"""Texts to unit vectors, over any OpenAI-compatible ``/v1/embeddings``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import openai
from numpy.typing import NDArray

Kind = Literal["query", "passage"]
Vectors = NDArray[np.float32]

TIMEOUT_S = 120.0


class EmbeddingError(Exception):
    """Base of what an embedding call can end in."""


class EmbeddingUnavailable(EmbeddingError):
    """The server can't be reached, or failed for longer than the client's retries."""


class EmbeddingRejected(EmbeddingError):
    """The server refuses the request, or its answer does not fit the texts."""


class EmbeddingClient:
    """One embedding model behind a base URL (which ends in ``/v1``). Safe for threads.

    Models of the e5 family are told whether a text is a query or a passage
    (``input_type``); others get the text alone. The key stays out of ``repr`` and of errors.
    """

    def __init__(self, base_url: str, model: str, api_key: str = "", batch: int = 64) -> None:
        self.base_url = base_url
        self.model = model
        self._batch = batch
        self._key = api_key
        self._client = openai.OpenAI(base_url=base_url, api_key=api_key or "none", timeout=TIMEOUT_S)

    def embed(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        """float32 (n, d), each row of length 1, in the order of ``texts``; (0, 0) for no texts.

        Raises EmbeddingUnavailable or EmbeddingRejected.
        """
        if not texts:
            return np.empty((0, 0), dtype=np.float32)
        starts = range(0, len(texts), self._batch)
        rows = np.concatenate([self._embed_batch(texts[at : at + self._batch], kind) for at in starts])
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: Vectors = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
        return unit

    def _embed_batch(self, texts: Sequence[str], kind: Kind) -> Vectors:
        extra = {"input_type": kind} if "e5" in self.model.lower() else None
        where = f"embedding model {self.model!r} at {self.base_url}"
        try:
            answer = self._client.embeddings.create(model=self.model, input=list(texts), extra_body=extra)
        except openai.APIConnectionError as error:
            raise EmbeddingUnavailable(
                f"{where} can't be reached ({self._redact(str(error.__cause__ or error))}). "
                "Start it with `make serve`, or set the right URL."
            ) from None
        except openai.APIStatusError as error:
            raise self._from_status(where, error) from None
        ordered = sorted(answer.data, key=lambda item: item.index)
        if len(ordered) != len(texts) or len({len(item.embedding) for item in ordered}) != 1:
            raise EmbeddingRejected(f"{where} answered {len(ordered)} vectors of one length for {len(texts)} texts")
        rows = np.array([item.embedding for item in ordered], dtype=np.float32)
        if not math.isfinite(float(rows.sum(dtype=np.float64))):
            raise EmbeddingRejected(f"{where} answered vectors that are not finite")
        return rows

    def _from_status(self, where: str, error: openai.APIStatusError) -> EmbeddingError:
        if error.status_code in (401, 403):
            return EmbeddingRejected(f"{where}: status {error.status_code}. Set the right API key.")
        detail = f"{where}: status {error.status_code}: {self._redact(error.message)[:300]}"
        if error.status_code == 429 or error.status_code >= 500:
            return EmbeddingUnavailable(f"{detail} It failed after its retries; try again later.")
        return EmbeddingRejected(detail)

    def _redact(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text
