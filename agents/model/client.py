"""A model as agents see it, over any OpenAI-compatible endpoint.

What is bought is stored before it is read, and never bought again.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Unpack

from agents.contract import (
    JSON,
    BadReply,
    CallLimitReached,
    CallOptions,
    Limits,
    LLMError,
    Message,
    Reply,
    Stage,
    ToolSpec,
    UnusableReply,
    Usage,
)
from agents.model.endpoints import (
    CallStore,
    Endpoint,
    SchemaMode,
    StoredCall,
    call_key,
    cost_usd,
    estimate_tokens,
    measure_usage,
)
from agents.model.limits import Limiter, LocalLimiter, RedisLimiter, never
from agents.model.replies import is_completion, read_reply
from agents.model.structured import Mode, ask_for_schema, repair_messages, without_system_role
from agents.model.transport import Courier, Rejected, working_modes

__all__ = [
    "CallStore",
    "Endpoint",
    "Limiter",
    "LocalLimiter",
    "OpenAILLM",
    "RedisLimiter",
    "SchemaMode",
    "StoredCall",
    "call_key",
    "cost_usd",
    "estimate_tokens",
]

REPAIR_ROUNDS = 2
_MODES: tuple[Mode, ...] = ("json_schema", "tool", "prompt")
_REFUSES_MODE = {
    "json_schema": re.compile(r"response_format|json_schema|schema|grammar|structured|strict", re.IGNORECASE),
    "tool": re.compile(r"tool|function", re.IGNORECASE),
}

OneBuyer = Callable[[str, Callable[[], None]], AbstractContextManager[None]]


def anybody(key: str, check: Callable[[], None]) -> AbstractContextManager[None]:
    """For a trajectory that shares its requests with no other."""
    return nullcontext()


@dataclass(frozen=True, slots=True)
class _Wish:
    """One call as the agent asked for it."""

    messages: tuple[JSON, ...]
    stage: Stage
    schema: JSON | None
    tools: tuple[ToolSpec, ...]
    temperature: float
    max_tokens: int


@dataclass(frozen=True, slots=True)
class _Request:
    """What is sent, the key it is kept under, and the schema mode it asks in."""

    body: JSON
    key: str
    mode: Mode | None


class _Kept(Exception):
    """The answer is in the store; nobody need buy it."""

    def __init__(self, call: StoredCall, mode: Mode | None) -> None:
        super().__init__(mode)
        self.call, self.mode = call, mode


class OpenAILLM:
    """Implements ``contract.LLM`` for one trajectory: the deadline runs from construction. Safe for threads.

    ``store`` refuses a new call once the budget is used up. Calls that are in
    flight when the money ends are finished, kept and used.

    ``one_buyer(key, check)`` holds back all but one of those who want to buy the
    same call at the same time; it calls ``check`` while it waits, which may raise.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        store: CallStore,
        limiter: Limiter,
        repeat: int,
        limits: Limits,
        should_stop: Callable[[], bool] = never,
        one_buyer: OneBuyer = anybody,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._endpoint = endpoint
        self._one_buyer = one_buyer
        self._store = store
        self._repeat = repeat
        self._limits = limits
        self._courier = Courier(endpoint, limiter, clock() + limits.deadline_s, should_stop, clock, sleep)
        self._lock = threading.Lock()
        self._calls = 0
        self._usage = Usage()

    @property
    def usage(self) -> Usage:
        """All calls of this trajectory so far, replayed ones and those behind an error included."""
        with self._lock:
            return self._usage

    def complete(self, messages: Sequence[Message], *, stage: Stage, **options: Unpack[CallOptions]) -> Reply:
        """See ``contract.LLM``. The limits cap ``max_tokens``; a repair round counts as a model call.

        With ``schema`` and ``tools`` the model may call a tool instead, and then ``parsed`` is None.
        """
        schema = options.get("schema")
        room = min(options.get("max_tokens", self._limits.max_tokens), self._limits.max_tokens)
        temperature = options.get("temperature", self._limits.temperature)
        first = tuple(dict(message) for message in messages)
        wish = _Wish(first, stage, schema, tuple(options.get("tools", ())), temperature, room)
        usage, replayed, unusable = Usage(), True, list[UnusableReply]()
        for round_number in range(REPAIR_ROUNDS + 1):
            try:
                call, from_store, mode = self._ask(wish, round_number)
            except LLMError as error:
                error.usage, error.replies = usage, tuple(unusable)  # of what this request was to mend
                raise
            usage, replayed = usage + call.usage, replayed and from_store
            read = read_reply(call.response, schema=schema, mode=mode, max_tokens=room)
            if not read.problem:
                return Reply(
                    read.text, read.parsed, read.tool_calls, usage, read.finish_reason, replayed, read.raw, read.cut
                )
            unusable.append(UnusableReply(read.raw, read.text, read.cut))
            # Grows from round to round: the same request again would be answered from the store.
            repaired = tuple(repair_messages(wish.messages, read.text, read.problem))
            wish = _Wish(repaired, stage, schema, wish.tools, temperature, room)
        bad = BadReply(f"{stage}: reply unusable after {REPAIR_ROUNDS} repairs: {read.problem}")
        bad.usage, bad.replies = usage, tuple(unusable)
        raise bad

    def _ask(self, wish: _Wish, round_number: int) -> tuple[StoredCall, bool, Mode | None]:
        """The answer to one request, whether it was replayed, and the schema mode it was asked in."""
        modes: tuple[Mode | None, ...] = (None,) if wish.schema is None else self._modes(wish)
        requests = [self._request(wish, mode, spell_out=round_number > 0) for mode in modes]
        self._count_call()
        try:
            call, from_store, mode = self._find_or_buy(requests, wish)
        except BaseException:
            with self._lock:
                self._calls -= 1  # not answered, so not a call
            raise
        with self._lock:
            self._usage += call.usage
        return call, from_store, mode

    def _find_or_buy(self, requests: Sequence[_Request], wish: _Wish) -> tuple[StoredCall, bool, Mode | None]:
        """The first of the requests, which differ in their schema mode, that is kept or that the server takes."""

        def look() -> None:
            """All modes before the server is asked: it may say something else today about those it takes."""
            stored = self._store.find([request.key for request in requests])
            for request in requests:
                if request.key in stored and is_completion(stored[request.key].response):
                    raise _Kept(stored[request.key], request.mode)

        def while_waiting() -> None:
            self._courier.check()
            look()

        for request in requests:
            try:
                with self._one_buyer(request.key, while_waiting):
                    look()
                    call = self._buy(request, wish.stage)
            except _Kept as kept:
                return kept.call, True, kept.mode
            except Rejected as refusal:
                if request is requests[-1] or not _refuses(request.mode, refusal):
                    raise
                continue
            if request.mode is not None and not wish.tools:
                working_modes[self._endpoint] = request.mode
            return call, False, request.mode
        raise AssertionError("unreachable")

    def _modes(self, wish: _Wish) -> tuple[Mode, ...]:
        """The schema modes to try, in order, from the one that worked. Own tools rule out the forced one."""
        if self._endpoint.schema_mode != "auto":
            return (self._endpoint.schema_mode,)
        known = working_modes.get(self._endpoint)
        modes = _MODES[_MODES.index(known) :] if known else _MODES
        return tuple(mode for mode in modes if not (wish.tools and mode == "tool"))

    def _request(self, wish: _Wish, mode: Mode | None, *, spell_out: bool) -> _Request:
        body: JSON = {"model": self._endpoint.model, "messages": list(wish.messages)}
        if self._endpoint.reasoning:
            body["max_completion_tokens"] = wish.max_tokens
        else:
            body |= {"max_tokens": wish.max_tokens, "temperature": wish.temperature}
        if wish.tools:
            body["tools"] = [_tool_json(tool) for tool in wish.tools]
        if mode is not None and wish.schema is not None:
            body = ask_for_schema(body, wish.schema, mode, spell_out=spell_out)
        if not self._endpoint.system_role:
            body["messages"] = without_system_role(body["messages"])
        return _Request(body, call_key(self._endpoint, body, self._repeat), mode)

    def _buy(self, request: _Request, stage: str) -> StoredCall:
        response, latency_s = self._courier.send(request.body)
        call = StoredCall(response, measure_usage(self._endpoint, request.body, response), latency_s, stage)
        self._store.put(request.key, request.body, call)
        return call

    def _count_call(self) -> None:
        self._courier.check()
        with self._lock:
            if self._calls >= self._limits.model_calls:
                raise CallLimitReached(f"the trajectory has used its {self._limits.model_calls} model calls")
            self._calls += 1


def _refuses(mode: Mode | None, refusal: Rejected) -> bool:
    pattern = _REFUSES_MODE.get(mode or "")
    return refusal.status in (400, 404, 422, 501) and pattern is not None and bool(pattern.search(refusal.detail))


def _tool_json(tool: ToolSpec) -> JSON:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}
