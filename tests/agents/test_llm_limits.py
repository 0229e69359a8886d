"""Where the client stops: calls, budget, deadline, cancel, length; and many threads at once."""

from __future__ import annotations

import inspect
import threading

import pytest

from agents.contract import (
    LLM,
    BudgetExceeded,
    CallLimitReached,
    Cancelled,
    DeadlinePassed,
    Limits,
)
from agents.model.client import Endpoint, OpenAILLM
from tests.agents.asking import ASK, error
from tests.agents.support import MemoryStore


def test_a_model_is_called_as_the_contract_says(script, bench):
    assert inspect.signature(OpenAILLM.complete) == inspect.signature(LLM.complete)


def test_length_and_temperature_are_the_runs_where_a_call_names_none(script, bench):
    script.says("aisle")
    llm = bench.llm(script.url, limits=Limits(max_tokens=1200, temperature=0.25))
    llm.complete(ASK, stage="act")
    llm.complete(ASK, stage="act", max_tokens=5000, temperature=0.5)  # the limits cap the length
    sent = [(request["max_tokens"], request["temperature"]) for request in script.requests]
    assert sent == [(1200, 0.25), (1200, 0.5)]


def test_the_call_limit_counts_replayed_calls_too(script, bench):
    script.says("aisle")
    bench.llm(script.url).complete(ASK, stage="act")
    llm = bench.llm(script.url, limits=Limits(model_calls=1))
    llm.complete(ASK, stage="act")
    with pytest.raises(CallLimitReached):
        llm.complete(ASK, stage="act")


def test_the_answer_that_ends_the_budget_is_used_and_replayed_and_then_nothing_new_is_bought(script, bench):
    script.says("aisle")
    llm = bench.llm(script.url, store=MemoryStore(budget=1))
    assert llm.complete(ASK, stage="act").text == "aisle"
    assert llm.complete(ASK, stage="act").replayed
    with pytest.raises(BudgetExceeded):
        llm.complete(ASK, stage="act", max_tokens=5)
    assert len(script.requests) == 1


def test_after_the_deadline_nothing_is_sent(script, bench):
    llm = bench.llm(script.url, limits=Limits(deadline_s=10))
    bench.clock.now = 10
    with pytest.raises(DeadlinePassed):
        llm.complete(ASK, stage="act")
    assert not script.requests


def test_cancelling_ends_the_wait_between_attempts(script, bench):
    script.answers = [error(503)]
    llm = bench.llm(script.url, should_stop=lambda: len(bench.clock.slept) >= 3)
    with pytest.raises(Cancelled):
        llm.complete(ASK, stage="act")
    assert len(bench.clock.slept) == 3


def test_the_reply_is_capped_by_the_limits_and_reasoning_models_get_their_own_fields(script, bench):
    script.says("aisle")
    bench.llm(script.url, limits=Limits(max_tokens=50)).complete(ASK, stage="act", temperature=0.7)
    bench.llm(script.url, reasoning=True).complete(ASK, stage="act", max_tokens=60)
    plain, reasoning = script.requests
    assert (plain["max_tokens"], plain["temperature"]) == (50, 0.7)
    assert reasoning["max_completion_tokens"] == 60
    assert not {"max_tokens", "temperature"} & set(reasoning)


def test_threads_share_an_endpoint_and_never_exceed_the_call_limit(script, bench):
    script.says("aisle")
    llm = bench.llm(script.url, limits=Limits(model_calls=20), max_in_flight=4)
    outcomes = []

    def work(number):
        try:
            outcomes.append(llm.complete([{"role": "user", "content": f"seat {number}"}], stage="act").text)
        except CallLimitReached:
            outcomes.append("limit")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (outcomes.count("aisle"), outcomes.count("limit")) == (20, 12)
    assert len(script.requests) == 20
    assert llm.usage.calls == 20


@pytest.mark.parametrize("change", [{"base_url": "localhost:1"}, {"max_in_flight": 0}, {"api_key": "sk-é"}])
def test_an_impossible_endpoint_is_refused_when_it_is_made(change):
    with pytest.raises(ValueError, match="endpoint 'a'"):
        Endpoint(**{"slug": "a", "base_url": "http://h/v1", "model": "m"} | change)
