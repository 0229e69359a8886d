"""What is bought from a scripted endpoint, once, and replayed."""

from __future__ import annotations

import pytest

from agents.contract import (
    BadReply,
    Limits,
    Usage,
)
from tests.agents.asking import ASK, SEAT
from tests.agents.support import completion


def test_an_answer_is_bought_once_and_replayed_after(script, bench):
    script.says("aisle")
    first = bench.llm(script.url).complete(ASK, stage="act")
    again = bench.llm(script.url).complete(ASK, stage="act")
    assert (first.text, first.replayed) == ("aisle", False)
    assert (again.text, again.replayed) == ("aisle", True)
    assert again.usage == first.usage
    assert len(script.requests) == 1


@pytest.mark.parametrize(
    "change", [{"repeat": 1}, {"model": "other"}, {"slug": "other"}, {"limits": Limits(max_tokens=7)}]
)
def test_another_repeat_model_endpoint_or_request_is_another_purchase(script, bench, change):
    script.says("aisle")
    bench.llm(script.url).complete(ASK, stage="act")
    bench.llm(script.url, **change).complete(ASK, stage="act")
    assert len(script.requests) == 2


def test_an_answer_is_kept_even_where_it_can_not_be_used(script, bench):
    script.says("no object here")
    with pytest.raises(BadReply) as caught:
        bench.llm(script.url, schema_mode="prompt").complete(ASK, stage="act", schema=SEAT)
    assert [reply.raw for reply in caught.value.replies] == ["no object here"] * 3
    assert len(bench.store.calls) == 3  # the call and two repairs
    with pytest.raises(BadReply):
        bench.llm(script.url, schema_mode="prompt").complete(ASK, stage="act", schema=SEAT)
    assert len(script.requests) == 3


def test_cost_comes_from_the_prices(script, bench):
    script.says("aisle")
    llm = bench.llm(script.url, price_in_per_mtok_usd=3.0, price_out_per_mtok_usd=15.0)
    # 100 tokens * 3 + 10 tokens * 15 = 450 USD per million
    assert llm.complete(ASK, stage="act").usage == Usage(1, 100, 10, 0.00045)
    assert llm.usage == Usage(1, 100, 10, 0.00045)


def test_missing_usage_is_estimated_and_marked(script, bench):
    body = completion("aisle seat")
    del body["usage"]
    script.answers = [(200, {}, body)]
    reply = bench.llm(script.url).complete(ASK, stage="act")
    assert reply.usage.tokens_out == 3  # 10 characters / 4, rounded up
    # 56 characters of [[{"role": "user", "content": "Which seat?"}], null] / 4
    assert reply.usage.tokens_in == 13
    (call,) = bench.store.calls.values()
    assert call.usage.estimated_calls == 1
    assert reply.usage.estimated_calls == 1
    assert call.stage == "act"


def test_nul_and_lone_surrogates_of_a_model_do_not_reach_the_store(script, bench):
    script.answers = [(200, {}, '{"choices": [{"message": {"content": "a\\u0000b\\ud800c"}}]}')]
    assert bench.llm(script.url).complete(ASK, stage="act").text == "ab?c"
