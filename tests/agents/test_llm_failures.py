"""What the client tries again, what it refuses at once, and how it says so."""

from __future__ import annotations

import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from agents.contract import (
    AuthenticationFailed,
    ContextOverflow,
    Limits,
    ModelUnavailable,
)
from agents.model.client import Endpoint
from agents.model.transport import retry_after_s
from tests.agents.asking import ASK, OK, error


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
