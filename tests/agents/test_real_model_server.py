"""The client and the whole method against a real model: SmolLM2-135M on llama.cpp."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from agents.contract import ContextOverflow, Limits, ModelUnavailable, StepKind, Termination
from agents.contract.serialise import from_json, to_json
from agents.model.client import LocalLimiter
from agents.model.transport import ATTEMPTS
from agents.registry import resolve
from agents.runner import run_agent
from tests.agents.agent_world import TrainDesk, history, menu_task, search_over, train_task
from tests.agents.support import python_server

HELLO = [{"role": "user", "content": "Name one city in France."}]
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 12}},
    "required": ["city"],
    "additionalProperties": False,
}


class CountingLimiter(LocalLimiter):
    """A limiter that counts requests."""

    def __init__(self) -> None:
        super().__init__()
        self.entered = 0

    @contextmanager
    def slot(self, *arguments: Any, **options: Any) -> Iterator[None]:
        self.entered += 1
        with super().slot(*arguments, **options):
            yield


def ask(url: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """A plain request to llama.cpp's own endpoints, which lie beside /v1."""
    method = "GET" if body is None else "POST"
    return httpx.request(method, url.removesuffix("/v1") + path, json=body, timeout=10).json()


def test_a_plain_completion_is_bought_once_and_then_replayed(llama, bench):
    first = bench.llm(llama).complete(HELLO, stage="test", max_tokens=12)
    again = bench.llm(llama).complete(HELLO, stage="test", max_tokens=12)
    assert first.text
    assert not first.replayed
    assert again.replayed
    assert again.text == first.text
    assert len(bench.store.calls) == 1


def test_usage_is_what_the_server_counts(llama, bench):
    reply = bench.llm(llama, price_in_per_mtok_usd=2.0, price_out_per_mtok_usd=10.0).complete(
        HELLO, stage="test", max_tokens=5
    )
    prompt = ask(llama, "/apply-template", {"messages": HELLO})["prompt"]
    tokens = len(ask(llama, "/tokenize", {"content": prompt, "parse_special": True})["tokens"])
    assert (reply.usage.calls, reply.usage.tokens_in, reply.usage.tokens_out) == (1, tokens, 5)
    # tokens * 2 USD and 5 * 10 USD, both per million
    assert reply.usage.cost_usd == pytest.approx((tokens * 2 + 50) / 1e6)
    assert reply.finish_reason == "length"


def test_a_schema_is_kept_by_the_servers_grammar(llama, bench):
    reply = bench.llm(llama).complete(HELLO, stage="test", schema=CITY, max_tokens=40)
    assert set(reply.parsed) == {"city"}
    assert len(reply.parsed["city"]) <= 12


def test_a_prompt_longer_than_the_context_is_one_request_and_an_overflow(llama, bench):
    limiter = CountingLimiter()
    with pytest.raises(ContextOverflow, match="512 tokens"):
        bench.llm(llama, limiter=limiter).complete([{"role": "user", "content": "word " * 900}], stage="test")
    assert limiter.entered == 1
    assert not bench.store.calls


def test_a_server_killed_in_mid_request_ends_in_bounded_retries_and_keeps_what_was_bought(bench, request):
    limiter = CountingLimiter()
    with python_server(str(request.path.parent / "llama_server.py")) as (url, process):
        bought = bench.llm(url, limiter=limiter).complete(HELLO, stage="test", max_tokens=4)
        failed: list[BaseException] = []

        def long_call() -> None:
            try:
                story = [{"role": "user", "content": "Tell a long story."}]
                bench.llm(url, limiter=limiter, limits=Limits(max_tokens=400)).complete(story, stage="test")
            except ModelUnavailable as error:
                failed.append(error)

        thread = threading.Thread(target=long_call)
        thread.start()
        while not any(slot["is_processing"] for slot in ask(url, "/slots")):
            pass
        process.kill()
        thread.join(timeout=20)

    assert "attempt 6 of 6" in str(failed[0])
    assert limiter.entered == 1 + ATTEMPTS
    replay = bench.llm(url).complete(HELLO, stage="test", max_tokens=4)
    assert replay.replayed
    assert replay.text == bought.text


@pytest.mark.parametrize("task", [menu_task(), train_task()], ids=["text", "call"])
def test_the_whole_method_on_a_small_model_ends_as_one_of_its_endings_and_never_in_a_crash(roomy_llama, bench, task):
    """Whether so small a model gets anything right is not asked."""
    limits = Limits(evidence_events=4, evidence_tokens=120, model_calls=12, repairs=1, max_tokens=24)
    done = run_agent(
        resolve("iba"), task, llm=bench.llm(roomy_llama, limits=limits), search=search_over(history()),
        call_tool=TrainDesk(), limits=limits,
    )  # fmt: skip
    own = {Termination.COMPLETED, Termination.CUT_OFF, Termination.NO_ACTION, Termination.BAD_OUTPUT}
    assert done.termination in own | {Termination.CALL_LIMIT, Termination.CONTEXT_OVERFLOW}, done.error
    asked = [step for step in done.steps if step.kind is StepKind.MODEL]
    assert asked
    assert 1 <= done.usage.calls <= 12
    assert done.usage.estimated_calls == 0  # the server counts
    assert from_json(to_json(done)) == done
