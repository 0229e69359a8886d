"""The simulated reader as a model's server, with the OpenAI wire protocol. What it says is simulated.

``python -m bench.reader.server --port 8082``; it reads labels from the project's database.

Dials, faults and latency are part of the model's name (``offline+understands=0.9+http429=0.2+latency=1``) and of
nothing else, so that a run's manifest says them.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import django
from django.db import DatabaseError
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agents.contract import JSON
from bench.reader.faults import CONTENT_KINDS, MODELS, Behaviour, Dials, behaviour_of, model_of
from bench.serving import GONE, Lru, error_response, serve

CONTEXT_TOKENS = 32_768
REMEMBERED_REQUESTS = 100_000
THREADS = 4
HANG_S = 3600.0  # the "timeout" fault: longer than any client waits
DEFAULT_MAX_TOKENS = 4096

Answer = Callable[[JSON, Dials], JSON]


class Refused(Exception):
    """A request that gets an error status."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


@dataclass(frozen=True, slots=True)
class Setup:
    answer: Answer
    context_tokens: int = CONTEXT_TOKENS


def create_app(setup: Setup) -> Starlette:
    pool = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="reader")
    attempts: Lru[str, int] = Lru(REMEMBERED_REQUESTS)

    async def chat(request: Request) -> Response:
        loop = asyncio.get_running_loop()
        arrived = loop.time()
        try:
            body, behaviour, tokens = await _read(request, setup)
            identity = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
            attempt = (attempts.get(identity) or 0) + 1
            attempts.put(identity, attempt)
            fault = behaviour.fault(identity, attempt)
            spoken = not fault or fault in CONTENT_KINDS
            body = body | {"model": model_of(body["model"])}
            message = await loop.run_in_executor(pool, setup.answer, body, behaviour.dials) if spoken else {}
            await asyncio.sleep(arrived + behaviour.latency_s - loop.time())
            if not spoken:
                return await _fail(fault, request)
            return JSONResponse(_completion(body, _spoil(message, fault), fault, identity, tokens))
        except Refused as refusal:
            return error_response(refusal.status, str(refusal), code=refusal.code)
        except ClientDisconnect:
            return Response(status_code=GONE)
        except DatabaseError as error:
            return error_response(503, f"the simulated reader cannot look labels up: {error}", code="database")

    async def models(_: Request) -> Response:
        listed = [{"id": name, "object": "model", "owned_by": "offline"} for name in MODELS]
        return JSONResponse({"object": "list", "data": listed})

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "simulated": True})

    return Starlette(
        routes=[
            Route("/v1/chat/completions", chat, methods=["POST"]),
            Route("/v1/models", models),
            Route("/health", health),
        ]
    )


async def _read(request: Request, setup: Setup) -> tuple[JSON, Behaviour, int]:
    """The checked body, how to behave for it, and about how many tokens it has. Raises Refused."""
    try:
        body = await request.json()
    except (ValueError, RecursionError) as error:
        raise Refused(400, "invalid_request", f"the body is not JSON: {error}") from error
    tokens = _check(body, setup.context_tokens)
    try:
        return body, behaviour_of(body["model"]), tokens
    except ValueError as error:
        raise Refused(400, "invalid_request", str(error)) from error


def _check(body: Any, context_tokens: int) -> int:
    """The tokens of the prompt. Raises Refused."""
    if not isinstance(body, dict) or not isinstance(body.get("model"), str):
        raise Refused(400, "invalid_request", "the body must be an object with 'model' and 'messages'")
    if model_of(body["model"]) not in MODELS:
        known = ", ".join(MODELS)
        raise Refused(404, "model_not_found", f"model {body['model']!r} does not exist; there are {known}")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Refused(400, "invalid_request", "'messages' must be a list with at least one message")
    if not all(isinstance(message, dict) and isinstance(message.get("role"), str) for message in messages):
        raise Refused(400, "invalid_request", "every message must be an object with a 'role'")
    if body.get("stream"):
        raise Refused(400, "unsupported", "streaming is not supported; leave 'stream' out")
    if body.get("n") not in (None, 1):
        raise Refused(400, "unsupported", f"'n' must be 1 or left out, got {body['n']!r}")
    room = _room(body)
    if isinstance(room, bool) or not isinstance(room, int) or room < 1:
        raise Refused(400, "invalid_request", f"'max_tokens' must be a whole number above 0, got {room!r}")
    tokens = _prompt_tokens(body)
    if tokens > context_tokens:
        text = f"the prompt has about {tokens} tokens, the maximum context length is {context_tokens}"
        raise Refused(400, "context_length_exceeded", text)
    return tokens


def _room(body: JSON) -> Any:
    """The most tokens that the reply may have."""
    given = [body[name] for name in ("max_completion_tokens", "max_tokens") if body.get(name) is not None]
    return given[0] if given else DEFAULT_MAX_TOKENS


def estimate_tokens(value: object) -> int:
    """About 4 characters a token, over the JSON text of ``value`` or over a string itself."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return -(-len(text) // 4)


def _prompt_tokens(body: JSON) -> int:
    given = [body[name] for name in ("messages", "tools", "response_format") if body.get(name)]
    return sum(estimate_tokens(part) for part in given)


async def _fail(fault: str, request: Request) -> Response:
    if fault == "http429":
        return error_response(429, "too many requests", code="rate_limit_exceeded", headers={"retry-after": "1"})
    if fault == "timeout":
        ends = time.monotonic() + HANG_S
        while time.monotonic() < ends and not await request.is_disconnected():
            await asyncio.sleep(0.5)
    return error_response(500, "the server had an error", code="server_error")


def _spoil(message: JSON, fault: str) -> JSON:
    """The message with a fault of content in it. Faults hit the text, or the arguments of the tool calls."""
    if fault == "prose":
        return {"content": "I have thought about it and would go with the second one, all in all."}
    spoil = {
        "malformed_json": lambda text: text.replace('"', "'") + ",}",
        "truncated": lambda text: text[: len(text) // 2],
    }
    if fault not in spoil:
        return message
    content = message.get("content")
    calls = [
        call | {"function": call["function"] | {"arguments": spoil[fault](call["function"]["arguments"])}}
        for call in message.get("tool_calls") or []
    ]
    return {"content": spoil[fault](content) if content else content, "tool_calls": calls}


def _completion(body: JSON, message: JSON, fault: str, identity: str, tokens_in: int) -> JSON:
    """The whole answer; text beyond max_tokens is cut off, about 4 characters a token."""
    room, finish = int(_room(body)) * 4, "length" if fault == "truncated" else "stop"
    content, calls = message.get("content"), message.get("tool_calls") or []
    spoken = (content or "") + "".join(call["function"]["arguments"] for call in calls)
    if len(spoken) > room:
        content, calls, finish = spoken[:room], [], "length"
        spoken = content
    elif calls and finish == "stop":
        finish = "tool_calls"
    said: JSON = {"role": "assistant", "content": content}
    if calls:
        said["tool_calls"] = calls
    choice = {"index": 0, "message": said, "finish_reason": finish, "logprobs": None}
    tokens_out = estimate_tokens(spoken)
    usage = {
        "prompt_tokens": tokens_in,
        "completion_tokens": tokens_out,
        "total_tokens": tokens_in + tokens_out,
    }
    return {
        "id": f"chatcmpl-{identity[:24]}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body["model"],
        "system_fingerprint": "simulated",
        "choices": [] if fault == "empty_choices" else [choice],
        "usage": usage,
    }


def read_arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Serve the simulated reader.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8082, help="0 picks a free one")
    parser.add_argument("--context-tokens", type=int, default=CONTEXT_TOKENS)
    return parser.parse_args(argv)


def run(answer: Answer, arguments: argparse.Namespace) -> None:
    serve(create_app(Setup(answer, arguments.context_tokens)), host=arguments.host, port=arguments.port)


def main() -> None:
    arguments = read_arguments()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "iba_site.settings")
    django.setup()
    from bench.reader.answers import answer, warm  # models are known only now

    warm()
    run(answer, arguments)


if __name__ == "__main__":
    main()
