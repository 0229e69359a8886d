"""The client against a scripted endpoint: what is bought, replayed, retried, repaired and refused."""

from __future__ import annotations

import inspect
import threading
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from agents.contract import (
    LLM,
    AuthenticationFailed,
    BadReply,
    BudgetExceeded,
    CallLimitReached,
    Cancelled,
    ContextOverflow,
    DeadlinePassed,
    Limits,
    ModelUnavailable,
    ToolSpec,
    Usage,
)
from agents.model.client import Endpoint, OpenAILLM
from agents.model.transport import retry_after_s
from tests.agents.support import MemoryStore, completion

ASK = [{"role": "user", "content": "Which seat?"}]
SEAT = {
    "type": "object",
    "properties": {"seat": {"enum": ["aisle", "window"]}},
    "required": ["seat"],
    "additionalProperties": False,
}
BOOK = ToolSpec("book", "Books a seat.", SEAT, commits=True)
OK = (200, {}, completion("fine"))


def error(status, message="no", headers=None, **more):
    return status, headers or {}, {"error": {"message": message, **more}}


# Buying and replaying


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
    assert caught.value.raw == "no object here"
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


# Limits


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


# Failures


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_transient_statuses_are_retried(script, bench, status):
    script.answers = [error(status), error(status), OK]
    assert bench.llm(script.url).complete(ASK, stage="act").text == "fine"
    assert len(script.requests) == 3
    assert len(bench.store.calls) == 1


def test_retries_are_bounded_and_the_error_names_endpoint_status_and_remedy(script, bench):
    script.answers = [error(503, "overloaded")]
    llm = bench.llm(script.url, limits=Limits(model_calls=1))
    with pytest.raises(ModelUnavailable, match=r"'test' \(http://127.*status 503: overloaded .*Check that"):
        llm.complete(ASK, stage="act")
    assert len(script.requests) == 6
    # pauses of at most 0.5 + 1 + 2 + 4 + 8 s and at least half of that
    assert 7.75 <= sum(bench.clock.slept) <= 15.5
    script.answers = [OK]
    assert llm.complete(ASK, stage="act").text == "fine"  # what was not answered does not count as a call


def test_retry_after_is_honoured(script, bench):
    script.answers = [error(429, headers={"retry-after": "20"}), OK]
    bench.llm(script.url).complete(ASK, stage="act")
    assert 20 <= sum(bench.clock.slept) <= 22


def test_a_retry_after_beyond_the_deadline_is_not_waited_for(script, bench):
    script.answers = [error(429, headers={"retry-after": "3600"})]
    with pytest.raises(ModelUnavailable, match="would pass the deadline"):
        bench.llm(script.url).complete(ASK, stage="act")
    assert len(script.requests) == 1
    assert not bench.clock.slept


def test_retry_after_may_be_a_date_milliseconds_or_nonsense():
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    assert 90 < retry_after_s({"retry-after": date}) <= 100
    assert retry_after_s({"retry-after-ms": "1500"}) == 1.5
    assert retry_after_s({"retry-after": "soon"}) == 0
    assert retry_after_s({}) == 0


@pytest.mark.parametrize("body", ["<html>busy</html>", "[1]", "{"])
def test_a_body_that_is_no_completion_is_asked_for_again(script, bench, body):
    script.answers = [(200, {}, body), OK]
    assert bench.llm(script.url).complete(ASK, stage="act").text == "fine"


def test_a_server_that_is_not_there_is_named(bench):
    with pytest.raises(ModelUnavailable, match=r"http://127\.0\.0\.1:9/v1\): connection failed"):
        bench.llm("http://127.0.0.1:9/v1").complete(ASK, stage="act")


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_is_refused_at_once_and_shown_nowhere(script, bench, status):
    script.answers = [error(status, "Incorrect API key: sk-secret", code="invalid_api_key")]
    with pytest.raises(AuthenticationFailed) as caught:
        bench.llm(script.url).complete(ASK, stage="act")
    assert len(script.requests) == 1
    assert script.keys == ["Bearer sk-secret"]
    shown = "".join(traceback.format_exception(caught.value))
    assert "sk-secret" not in shown


def test_a_key_that_a_server_echoes_is_blotted_out(script, bench):
    script.answers = [error(404, "no model for key sk-secret")]
    with pytest.raises(ModelUnavailable, match=r"no model for key \[key\] Check model 'offline'"):
        bench.llm(script.url).complete(ASK, stage="act")
    assert "sk-secret" not in repr(Endpoint("a", "http://h/v1", "m", "sk-secret"))


def test_a_spent_account_is_not_retried(script, bench):
    script.answers = [error(429, "You exceeded your quota", code="insufficient_quota")]
    with pytest.raises(ModelUnavailable, match="no quota"):
        bench.llm(script.url).complete(ASK, stage="act")
    assert len(script.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [
        error(400, "too long", code="context_length_exceeded"),
        error(400, "request (931 tokens) is too long", code=400, type="exceed_context_size_error"),
        error(400, "This model's maximum context length is 4096 tokens.", code=400, type="BadRequestError"),
        (400, {}, {"object": "error", "message": "the maximum context length is 4096", "code": 400}),
        (
            422,
            {},
            {"error": "`inputs` tokens + `max_new_tokens` must be <= 4096", "error_type": "validation"},
        ),
        error(400, "prompt is too long: 210000 tokens > 200000 maximum"),
        error(500, "the request exceeds the available context size, try increasing it"),
    ],
)
def test_every_servers_way_to_say_that_the_prompt_is_too_long_is_known(script, bench, answer):
    script.answers = [answer]
    with pytest.raises(ContextOverflow):
        bench.llm(script.url).complete(ASK, stage="act")
    assert len(script.requests) == 1


# Schemas


@pytest.mark.parametrize(
    "content",
    [
        '{"seat": "aisle"}',
        '```json\n{"seat": "aisle"}\n```',
        'Since {they} woke people twice: {"seat": "aisle"}, I think.',
        '<think>{"seat": "window"}?</think>{"seat": "aisle"}',
    ],
)
def test_the_one_object_is_taken_out_of_fences_and_prose(script, bench, content):
    script.says(content)
    assert bench.llm(script.url).complete(ASK, stage="act", schema=SEAT).parsed == {"seat": "aisle"}
    sent = script.requests[0]["response_format"]["json_schema"]
    assert (sent["schema"], sent["strict"]) == (SEAT, True)


def test_strict_is_asked_for_only_where_the_schema_allows_it(script, bench):
    script.says("{}")
    bench.llm(script.url).complete(ASK, stage="act", schema={"type": "object", "properties": {"a": {}}})
    assert script.requests[0]["response_format"]["json_schema"]["strict"] is False


def test_an_endpoint_without_schemas_is_asked_by_forced_tool_and_then_remembered(script, bench):
    function = {"name": "reply", "arguments": '{"seat": "aisle"}'}
    by_tool = (200, {}, completion(None, tool_calls=[{"id": "1", "type": "function", "function": function}]))
    script.answers = [error(400, "response_format is not supported"), by_tool]
    reply = bench.llm(script.url).complete(ASK, stage="act", schema=SEAT)
    assert (reply.parsed, reply.tool_calls, reply.usage.calls) == ({"seat": "aisle"}, (), 1)
    bench.llm(script.url, repeat=1).complete(ASK, stage="act", schema=SEAT)
    assert ["response_format" in sent for sent in script.requests] == [True, False, False]
    assert script.requests[2]["tool_choice"]["function"]["name"] == "reply"


def test_an_endpoint_without_tools_either_gets_the_schema_in_the_prompt(script, bench):
    script.answers = [
        error(400, "no json_schema"),
        error(422, "tools unknown"),
        (200, {}, completion('{"seat": "aisle"}')),
    ]
    assert bench.llm(script.url).complete(ASK, stage="act", schema=SEAT).parsed == {"seat": "aisle"}
    assert '"enum": ["aisle", "window"]' in script.requests[2]["messages"][0]["content"]


def test_what_was_bought_in_another_mode_is_replayed_without_asking(script, bench):
    script.answers = [
        error(400, "no json_schema"),
        error(400, "no tools"),
        (200, {}, completion('{"seat": "aisle"}')),
    ]
    bench.llm(script.url).complete(ASK, stage="act", schema=SEAT)
    later = bench.llm(script.url, max_in_flight=9)  # an endpoint that this process has not learnt about
    assert later.complete(ASK, stage="act", schema=SEAT).replayed
    assert len(script.requests) == 3


def test_a_400_about_something_else_is_not_taken_for_a_missing_schema_mode(script, bench):
    script.answers = [error(400, "unknown model")]
    with pytest.raises(ModelUnavailable, match="unknown model"):
        bench.llm(script.url).complete(ASK, stage="act", schema=SEAT)
    assert len(script.requests) == 1


def test_a_bad_reply_is_shown_with_its_error_and_repaired(script, bench):
    script.says('{"seat": "wing"}', '{"seat": "aisle"}')
    llm = bench.llm(script.url)
    reply = llm.complete(ASK, stage="act", schema=SEAT)
    assert reply.parsed == {"seat": "aisle"}
    assert reply.usage.calls == 2
    said, asked = script.requests[1]["messages"][-2:]
    assert said == {"role": "assistant", "content": '{"seat": "wing"}'}
    assert "at $.seat: 'wing' is not one of ['aisle', 'window']" in asked["content"]
    assert '"required": ["seat"]' in asked["content"]


def test_a_cut_off_object_is_repaired_and_then_given_up_with_the_raw_text(script, bench):
    script.says('{"seat": {"a": 1}, "why": "be', finish="length")
    with pytest.raises(BadReply, match="cut off at 2400 tokens") as caught:
        bench.llm(script.url).complete(ASK, stage="act", schema=SEAT)
    assert caught.value.raw == '{"seat": {"a": 1}, "why": "be'
    assert len(script.requests) == 3


def test_repairs_stop_at_the_call_limit(script, bench):
    script.says("no")
    with pytest.raises(CallLimitReached):
        bench.llm(script.url, limits=Limits(model_calls=2)).complete(ASK, stage="act", schema=SEAT)
    assert len(script.requests) == 2


@pytest.mark.parametrize(
    "body",
    [
        {"choices": []},
        {"choices": [{"message": None}]},
        completion(None),
        completion(" "),
    ],
)
def test_an_empty_answer_is_asked_for_again(script, bench, body):
    script.answers = [(200, {}, body), OK]
    assert bench.llm(script.url).complete(ASK, stage="act").text == "fine"
    assert "it is empty" in script.requests[1]["messages"][-1]["content"]


def test_a_text_that_ran_out_of_room_is_returned_as_it_is(script, bench):
    script.says("Once upon", finish="length")
    assert bench.llm(script.url).complete(ASK, stage="act").finish_reason == "length"


# Tools


def test_tool_calls_are_read_and_those_with_broken_arguments_repaired(script, bench):
    def call(arguments):
        function = {"name": "book", "arguments": arguments}
        return (
            200,
            {},
            completion(None, "tool_calls", tool_calls=[{"id": "c1", "type": "function", "function": function}]),
        )

    script.answers = [call("{'seat'"), call('{"seat": "aisle"}')]
    (made,) = bench.llm(script.url).complete(ASK, stage="act", tools=[BOOK]).tool_calls
    assert (made.call_id, made.name, made.arguments) == ("c1", "book", {"seat": "aisle"})
    assert script.requests[0]["tools"][0]["function"]["parameters"] == SEAT
    assert "are not JSON" in script.requests[1]["messages"][-1]["content"]


def test_a_model_may_call_a_tool_where_a_schema_was_asked_for(script, bench):
    function = {"name": "book", "arguments": "{}"}
    script.answers = [(200, {}, completion(None, tool_calls=[{"id": "c1", "function": function}]))]
    reply = bench.llm(script.url).complete(ASK, stage="act", schema=SEAT, tools=[BOOK])
    assert reply.parsed is None
    assert reply.tool_calls[0].name == "book"


# Many at once


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
