"""Answers by a schema and calls of tools: asked for, read, repaired."""

from __future__ import annotations

import pytest

from agents.contract import (
    BadReply,
    CallLimitReached,
    Limits,
    ModelUnavailable,
)
from tests.agents.asking import ASK, BOOK, OK, SEAT, error
from tests.agents.support import completion


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
    assert caught.value.replies[-1].raw == '{"seat": {"a": 1}, "why": "be'
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
