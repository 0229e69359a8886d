"""The door of the site: what a request must be before a thread of the application sees it.

The application's threads are few. Here, where a waiting request costs a socket and no thread, the body is read to its
end, within a size and a time; what does not fit is answered from here.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import quote_from_bytes

Message: TypeAlias = MutableMapping[str, Any]  # as ASGI defines it
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]
Headers: TypeAlias = list[tuple[bytes, bytes]]

BODY_BYTES = 2_621_440  # also what Django takes into memory at most
STRANGER_BYTES = 65_536  # of somebody who shows neither a session nor a token


@dataclass(frozen=True, slots=True)
class Refused(Exception):
    """Answered without the application."""

    status: int
    sentence: str


class Front:
    """``app`` with every request whole, at most ``patience_s`` after its headers.

    ``behind_proxy``: one proxy in front says who the client is.
    """

    def __init__(self, app: App, *, patience_s: int, behind_proxy: bool, session_cookie: str) -> None:
        self._app = app
        self._patience_s = patience_s
        self._behind_proxy = behind_proxy
        self._session = f"{session_cookie}=".encode()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers: Headers = _plain(scope["headers"])
        try:
            limit = BODY_BYTES if self._is_known(headers) else STRANGER_BYTES
            _check_length(headers, limit)
            body = await asyncio.wait_for(_whole(receive, limit), self._patience_s)
        except Refused as refused:
            await _answer(send, refused)
        except TimeoutError:
            await _answer(send, Refused(408, f"the body was not whole after {self._patience_s} s"))
        except ConnectionResetError:
            return  # nobody is left to answer
        else:
            whole = {**scope, "headers": _with_length(headers, body), "query_string": _ascii(scope["query_string"])}
            if self._behind_proxy:
                whole["client"] = _client(scope, headers)
            await self._app(whole, _once(body), send)

    def _is_known(self, headers: Headers) -> bool:
        """Whether it shows something that could be a session or a token; the application finds out if it is."""
        return any(
            name == b"authorization" or (name == b"cookie" and self._session in value) for name, value in headers
        )


def _plain(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Without names with an underscore: ``X_Forwarded_Proto`` would pass for the proxy's ``X-Forwarded-Proto``."""
    return [(name, value) for name, value in headers if b"_" not in name]


def _check_length(headers: Headers, limit: int) -> None:
    for name, value in headers:
        if name == b"content-length" and (not value.isdigit() or int(value[:12]) > limit):
            raise _too_long(limit)


def _too_long(limit: int) -> Refused:
    more = "" if limit == BODY_BYTES else f"; signed in, or with a token, {BODY_BYTES:,} are"
    return Refused(413, f"a body of more than {limit:,} bytes is not taken{more}")


async def _whole(receive: Receive, limit: int) -> bytes:
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionResetError
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise _too_long(limit)
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _with_length(headers: Headers, body: bytes) -> Headers:
    """With the length of what came, which a body in chunks does not say."""
    others = [(name, value) for name, value in headers if name not in {b"content-length", b"transfer-encoding"}]
    return [*others, (b"content-length", str(len(body)).encode())] if body else others


def _ascii(query: bytes) -> bytes:
    """Bytes that an address cannot hold, such as a bare ``ü``, percent-encoded."""
    return query if query.isascii() else quote_from_bytes(query, safe="".join(map(chr, range(33, 127)))).encode()


def _client(scope: Message, headers: Headers) -> tuple[str, int]:
    """The last address of X-Forwarded-For is the one that our own proxy has seen."""
    said = [value for name, value in headers if name == b"x-forwarded-for"]
    last = said[-1].decode("latin1").rpartition(",")[2].strip() if said else ""
    try:
        return str(ipaddress.ip_address(last)), 0
    except ValueError:
        peer: tuple[str, int] = scope.get("client") or ("127.0.0.1", 0)
        return peer


def _once(body: bytes) -> Receive:
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else {"type": "http.disconnect"}

    return receive


async def _answer(send: Send, refused: Refused) -> None:
    text = f"{refused.sentence}\n".encode()
    head = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(text)).encode())]
    await send({"type": "http.response.start", "status": refused.status, "headers": [*head, (b"connection", b"close")]})
    await send({"type": "http.response.body", "body": text, "more_body": False})
