"""One request to an OpenAI-compatible server, with our own retries. Turns every failure into an LLMError."""

from __future__ import annotations

import json
import math
import os
import random
import re
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any

import certifi
import openai

from agents.contract import (
    JSON,
    AuthenticationFailed,
    Cancelled,
    ContextOverflow,
    DeadlinePassed,
    EndpointAway,
    LLMError,
    ModelUnavailable,
)
from agents.model.endpoints import Endpoint, estimate_tokens
from agents.model.limits import Limiter, Stop
from agents.model.replies import is_completion
from agents.model.structured import Mode

ATTEMPTS = 6
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
SLICE_S = 0.5  # a pause is slept in slices, so that cancelling does not wait for its end
_CHAT = "/chat/completions"
TRANSIENT_STATUS = frozenset({408, 409, 429})

_OVERFLOW_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_OVERFLOW_TEXT = re.compile(
    r"maximum context length|context[ _](length|window|size)[^.]{0,40}exceed"
    r"|exceeds? (the )?(available |model'?s? )?context|prompt is too long|max_new_tokens.{0,20}must be",
    re.IGNORECASE,
)
_jitter = random.SystemRandom()


class Transient(Exception):
    """A failure that the next attempt may not have. ``retry_after_s`` is what the server asked for.

    ``status`` is its HTTP status, 0 where the failure has none.
    """

    def __init__(self, what: str, retry_after_s: float = 0.0, status: int = 0) -> None:
        super().__init__(what)
        self.retry_after_s = retry_after_s
        self.status = status


class Rejected(ModelUnavailable):
    """The server understood the request and refuses it (400, 404, 422, ...). ``detail`` is its reason."""

    def __init__(self, message: str, status: int, detail: str) -> None:
        super().__init__(message)
        self.status = status
        self.detail = detail


# The schema mode that worked at an endpoint, known to all threads.
working_modes: dict[Endpoint, Mode] = {}


class _HttpClient(openai.DefaultHttpxClient):
    """Closes its connections with the thread that it belongs to."""

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()


class _Clients(threading.local):
    def __init__(self) -> None:
        self.made: dict[tuple[str, str, float, int], openai.OpenAI] = {}


_clients = _Clients()


def client_of(endpoint: Endpoint) -> openai.OpenAI:
    """The thread's own client: in a pool shared by many threads each request looks at every connection.

    A forked child gets its own.
    """
    key = (endpoint.base_url, endpoint.api_key, endpoint.timeout_s, os.getpid())
    if key not in _clients.made:
        _clients.made[key] = openai.OpenAI(
            base_url=endpoint.base_url,
            api_key=endpoint.api_key or "none",
            max_retries=0,
            timeout=endpoint.timeout_s,
            http_client=_HttpClient(timeout=endpoint.timeout_s, verify=_certificates()),
        )
    return _clients.made[key]


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    """Read once: it takes longer than a request. The variables are those that the HTTP library itself knows."""
    cafile, capath = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    return ssl.create_default_context(cafile=cafile if cafile or capath else certifi.where(), capath=capath)


@dataclass(frozen=True)
class Courier:
    """Sends requests until one is answered, within attempts and deadline.

    ``deadline`` is a time of ``clock`` (seconds). ``sleep`` and ``clock`` can be replaced in tests.
    """

    endpoint: Endpoint
    limiter: Limiter
    deadline: float
    should_stop: Stop
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def send(self, request: JSON) -> tuple[JSON, float]:
        """The server's answer and how long it took in seconds. Raises LLMError only."""
        for attempt in range(1, ATTEMPTS + 1):
            self.check()
            try:
                return self._send_once(request)
            except Transient as failure:
                pause = _pause_s(attempt, failure.retry_after_s)
                if attempt == ATTEMPTS or self.clock() + pause >= self.deadline:
                    raise self._gave_up(failure, attempt, pause) from None
            self._wait(pause)
        raise AssertionError("unreachable")

    def check(self) -> None:
        """Raises Cancelled or DeadlinePassed."""
        if self.should_stop():
            raise Cancelled("cancelled before the next model call")
        if self.clock() >= self.deadline:
            raise DeadlinePassed("the trajectory's time is over before the next model call")

    def _send_once(self, request: JSON) -> tuple[JSON, float]:
        reply_room = request.get("max_tokens") or request.get("max_completion_tokens") or 0
        tokens = estimate_tokens([request.get("messages"), request.get("tools")]) + int(reply_room)
        left = self.deadline - self.clock()
        with self.limiter.slot(self.endpoint, tokens, wait_s=left, should_stop=self.should_stop):
            self.check()  # the wait may have been long
            started = self.clock()
            answer = post(self.endpoint, request, min(self.endpoint.timeout_s, self.deadline - started))
            return answer, self.clock() - started

    def _wait(self, seconds: float) -> None:
        while seconds > 0:
            if self.should_stop():
                raise Cancelled("cancelled while waiting to retry")
            self.sleep(min(SLICE_S, seconds))
            seconds -= SLICE_S

    def _gave_up(self, failure: Transient, attempt: int, pause: float) -> EndpointAway:
        why = f"attempt {attempt} of {ATTEMPTS}"
        if attempt < ATTEMPTS:
            why += f"; waiting {pause:.0f} s would pass the deadline"
        return EndpointAway(
            self.endpoint.name,
            f"endpoint {self.endpoint.slug!r} ({self.endpoint.public_url}): {failure} ({why}). "
            "Check that the server is up and that its limits fit.",
        )


def post(endpoint: Endpoint, request: JSON, timeout_s: float) -> JSON:
    """One attempt. Raises Transient, or an LLMError that no retry can change."""
    try:
        # Not chat.completions.create: it rebuilds the request and the answer, which takes longer than the sending.
        text = client_of(endpoint).post(_CHAT, cast_to=str, body=request, options={"timeout": timeout_s})
    except openai.APITimeoutError:
        raise Transient(f"no answer within {timeout_s:.0f} s") from None
    except openai.APIConnectionError as error:
        cause = error.__cause__ or error
        if _is_of_certificate(error):
            where = f"endpoint {endpoint.slug!r} ({endpoint.public_url})"
            remedy = "Mend the certificate, or name the authority's file in SSL_CERT_FILE."
            raise EndpointAway(endpoint.name, endpoint.redact(f"{where}: {cause}. {remedy}")) from None
        raise Transient(endpoint.redact(f"connection failed ({type(cause).__name__}: {cause})")) from None
    except openai.APIStatusError as error:
        raise _from_status(endpoint, error) from None
    try:
        answer = json.loads(text, parse_constant=lambda _: None, parse_float=_finite)
    except (ValueError, RecursionError):
        raise Transient("status 200 with a body that is not JSON") from None
    if not isinstance(answer, dict):
        raise Transient(f"status 200 with a JSON {type(answer).__name__} where an object belongs")
    if not is_completion(answer):
        said = endpoint.redact(json.dumps(answer.get("error") or answer))[:300]
        raise Transient(f"status 200 with a body that is no completion: {said}")
    return {name: _storable(value) for name, value in answer.items()}


def _finite(digits: str) -> float | None:
    """None for 1e999, as for NaN and Infinity: no database keeps them."""
    number = float(digits)
    return number if math.isfinite(number) else None


def _is_of_certificate(error: BaseException | None) -> bool:
    """Whether a certificate that cannot be verified is behind it: no retry changes that."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _storable(value: Any) -> Any:
    """``value`` without NUL and lone surrogates, which a model can write and no database keeps."""
    if isinstance(value, str):
        return value.replace("\0", "").encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        return {_storable(name): _storable(item) for name, item in value.items()}
    return value


def _from_status(endpoint: Endpoint, error: openai.APIStatusError) -> Transient | LLMError:
    """The error to raise for an HTTP status. The chain to ``error`` is cut, since servers echo keys."""
    status = error.status_code
    where = f"endpoint {endpoint.slug!r} ({endpoint.public_url})"
    if status in (401, 403):
        return AuthenticationFailed(
            endpoint.name, f"{where}: status {status}. Set the right API key for this endpoint."
        )
    codes, detail = _server_words(error)
    detail = endpoint.redact(detail)[:300]
    if status != 429 and (codes & _OVERFLOW_CODES or _OVERFLOW_TEXT.search(detail)):
        return ContextOverflow(f"{where}: status {status}: {detail} Shorten the prompt.")
    if status == 429 and "insufficient_quota" in codes:
        return EndpointAway(endpoint.name, f"{where}: status 429: {detail} The account has no quota left.")
    if status in TRANSIENT_STATUS or (status >= 500 and status != 501):
        return Transient(f"status {status}: {detail}", retry_after_s(error.response.headers), status)
    message = f"{where}: status {status}: {detail} Check model {endpoint.model!r} and the base URL."
    return Rejected(message, status, detail)


def _server_words(error: openai.APIStatusError) -> tuple[set[str], str]:
    """Codes and text of an error body: {"error": {...}}, {"error": "text"}, {"detail": ...} or HTML."""
    body: Any = error.body
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        body = body["error"]
    if not isinstance(body, dict):
        return set(), str(body or error.message)
    codes = {str(body[name]) for name in ("code", "type") if body.get(name)}
    words = next((body[name] for name in ("message", "error", "detail") if body.get(name)), body)
    return codes, words if isinstance(words, str) else json.dumps(words)


def retry_after_s(headers: Any) -> float:
    """Seconds from ``Retry-After-Ms`` or ``Retry-After`` (number or HTTP date); 0 where there is none."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        text = headers.get("retry-after", "0")
        if text.replace(".", "", 1).isdigit():
            return float(text)
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return 0.0


def _pause_s(attempt: int, asked_s: float) -> float:
    """At least what the server asked for; else doubling, half of it random so that clients spread."""
    own: float = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** (attempt - 1)) * _jitter.uniform(0.5, 1.0)
    return max(own, asked_s * _jitter.uniform(1.0, 1.1))
