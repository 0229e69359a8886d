"""What both small servers share: the listening socket, error bodies, a bounded cache."""

from __future__ import annotations

import socket
import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse

KEEP_ALIVE_S = 300  # longer than clients keep idle connections: else one is closed while it is used again
GONE = 499  # the client left before its request was whole; nobody reads the answer

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Lru(Generic[K, V]):
    """The ``size`` most recently used values. Safe for threads."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key]

    def items(self) -> list[tuple[K, V]]:
        with self._lock:
            return list(self._values.items())

    def put(self, key: K, value: V) -> None:
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            if len(self._values) > self._size:
                self._values.popitem(last=False)


def error_response(status: int, message: str, *, code: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """An error in the OpenAI shape."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    body = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    return JSONResponse(body, status_code=status, headers=headers)


def serve(app: Starlette, *, host: str, port: int) -> None:
    """Serves until a signal. Prints the base URL once connections are taken; port 0 picks a free one."""
    # The protocol is named since asyncio sends small packets at once (TCP_NODELAY) only on sockets that name it.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1024)
        print(f"http://{host}:{listener.getsockname()[1]}/v1", flush=True)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=1,
            timeout_keep_alive=KEEP_ALIVE_S,
        )
        uvicorn.Server(config).run(sockets=[listener])
