"""The simulated reader's wire, over HTTP, with known answers (offline_echo.py)."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter

import httpx
import pytest

from agents.contract import BadReply, ContextOverflow, Limits, ModelUnavailable, ToolSpec
from bench.reader.faults import CONTENT_KINDS, Dials, behaviour_of, model_of

NUMBER = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
BOOK = ToolSpec("book", "Books.", {"type": "object", "properties": {}})


def user(text):
    return [{"role": "user", "content": text}]


def post(url, body):
    answer = httpx.post(f"{url}/chat/completions", json=body, timeout=30)
    return answer.status_code, answer.json() | {"retry-after": answer.headers.get("retry-after")}


def ask(text="hello", **more):
    return {"model": "offline", "messages": user(text)} | more


def test_a_plain_answer_has_text_usage_and_is_marked_simulated(offline_url):
    status, answer = post(offline_url, ask("abcdefgh"))
    assert status == 200
    assert answer["choices"][0]["message"]["content"] == "abcdefgh"
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["system_fingerprint"] == "simulated"
    # the prompt is [{"role": "user", "content": "abcdefgh"}]: 41 characters / 4, rounded up; the reply 8 / 4
    assert answer["usage"] == {"prompt_tokens": 11, "completion_tokens": 2, "total_tokens": 13}


def test_the_client_gets_a_schema_filled_and_a_forced_tool_called(offline_url, bench):
    llm = bench.llm(offline_url)
    assert llm.complete(user("abc"), stage="t", schema=NUMBER).parsed == {"n": 3}
    forced = ask(tool_choice={"type": "function", "function": {"name": "book"}}, tools=[{"type": "function"}])
    choice = post(offline_url, forced)[1]["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]) == {"seat": "aisle"}


def test_max_tokens_cuts_the_reply(offline_url):
    choice = post(offline_url, ask("abcdefghijkl", max_tokens=2))[1]["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == (
        "abcdefgh",
        "length",
    )  # 2 tokens, 8 characters


def test_dials_are_those_of_the_model_and_of_its_settings(offline_url, bench):
    def dials(model):
        return bench.llm(offline_url, model=model).complete(user("dials"), stage="t").text

    assert dials("offline") == "1 1 0"
    assert dials("offline-weak") == "0.8 0.8 0"
    assert dials("offline-judge-b") == "1 1 0.04"
    assert dials("offline+understands=0.5+keeps=0.25") == "0.5 0.25 0"


def test_a_prompt_beyond_the_context_is_an_overflow(offline_url, bench):
    with pytest.raises(ContextOverflow, match="maximum context length is 1000"):
        bench.llm(offline_url).complete(user("a" * 4000), stage="t")
    assert not bench.clock.slept


def test_the_models_are_listed(offline_url):
    names = [model["id"] for model in httpx.get(f"{offline_url}/models").json()["data"]]
    judges = ["offline-judge-a", "offline-judge-b", "offline-judge-c", "offline-exact"]
    assert names == ["offline", "offline-weak", *judges]


@pytest.mark.parametrize(
    ("body", "status", "problem"),
    [
        ([], 400, "must be an object"),
        (ask(messages=[]), 400, "at least one message"),
        (ask(messages=["hi"]), 400, "a 'role'"),
        (ask(stream=True), 400, "streaming is not supported"),
        (ask(n=2), 400, "'n' must be 1"),
        (ask(max_tokens=0), 400, "above 0"),
        (ask(model="gpt"), 404, "there are offline, offline-weak, offline-judge-a"),
        (ask(model="offline+http418=1"), 400, "unknown setting 'http418=1'"),
        (ask(model="offline+prose=2"), 400, "unknown setting 'prose=2'"),
        (ask(model="offline+prose=often"), 400, "'often' is not a number"),
    ],
)
def test_bad_requests_are_told_what_would_be_right(offline_url, body, status, problem):
    got, answer = post(offline_url, body)
    assert got == status
    assert problem in answer["error"]["message"]


def test_faults_are_set_by_the_models_name(offline_url):
    limited = post(offline_url, ask(model="offline+http429=1"))
    assert (limited[0], limited[1]["retry-after"]) == (429, "1")
    assert post(offline_url, ask(model="offline+http500=1"))[0] == 500
    assert post(offline_url, ask(model="offline+empty_choices=1"))[1]["choices"] == []


@pytest.mark.parametrize("kind", CONTENT_KINDS)
def test_a_content_fault_that_stays_ends_in_a_bad_reply(offline_url, bench, kind):
    with pytest.raises(BadReply):
        bench.llm(offline_url, model=f"offline+{kind}=1").complete(user("abc"), stage="t", schema=NUMBER)


@pytest.mark.parametrize("kind", [*CONTENT_KINDS, "http429", "http500"])
def test_the_client_gets_through_faults_that_come_and_go(offline_url, bench, kind):
    rate = 0.1 if kind in CONTENT_KINDS else 0.3  # an unusable reply is asked for twice more, a refused call five times
    llm = bench.llm(offline_url, model=f"offline+{kind}={rate}", limits=Limits(model_calls=99))
    replies = [llm.complete(user("a" * number), stage="t", schema=NUMBER).parsed for number in range(1, 21)]
    assert all(set(reply) == {"n"} for reply in replies)
    assert llm.usage.calls > 20 or bench.clock.slept


def test_a_hanging_server_is_given_up_after_bounded_attempts(offline_url, bench):
    llm = bench.llm(offline_url, model="offline+timeout=1", timeout_s=0.05)
    with pytest.raises(ModelUnavailable, match=r"no answer within 0 s \(attempt 6 of 6\)"):
        llm.complete(user("a"), stage="t")


def test_a_hundred_slow_answers_take_about_as_long_as_one(offline_url, bench):
    llm = bench.llm(
        offline_url,
        model="offline+latency=1",
        max_in_flight=128,
        limits=Limits(model_calls=128),
        clock=time.monotonic,
    )
    threads = [
        threading.Thread(target=llm.complete, args=(user(f"a{number}"),), kwargs={"stage": "t"})
        for number in range(128)
    ]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(bench.store.calls) == 128
    assert time.monotonic() - started < 30  # one after the other they would take 128 s


@pytest.mark.django_db
def test_the_reader_that_is_shipped_fills_any_schema_and_a_forced_tool(reader_url, bench):
    llm = bench.llm(reader_url)
    assert isinstance(llm.complete(user("Which seat?"), stage="t", schema=NUMBER).parsed["n"], int)
    seat = {"type": "object", "properties": {"seat": {"enum": ["aisle", "window"]}}, "required": ["seat"]}
    by_tool = bench.llm(reader_url, schema_mode="tool").complete(user("Which seat?"), stage="t", schema=seat)
    assert by_tool.parsed["seat"] in ("aisle", "window")


def test_faults_repeat_and_change_with_the_attempt():
    behaviour = behaviour_of("offline+http429=0.2+prose=0.3")
    drawn = [behaviour.fault("r", attempt) for attempt in range(4000)]
    assert drawn == [behaviour.fault("r", attempt) for attempt in range(4000)]
    assert drawn != [behaviour.fault("another", attempt) for attempt in range(4000)]
    counts = Counter(drawn)
    # 0.2 of 4000 = 800; of the rest 0.3: 0.8 * 0.3 * 4000 = 960; 101 and 108 are four deviations
    assert counts["http429"] == pytest.approx(800, abs=101)
    assert counts["prose"] == pytest.approx(960, abs=108)


def test_settings_are_part_of_the_models_name():
    found = behaviour_of("offline-weak+http429=0.2+latency=1+keeps=0.5")
    assert model_of("offline-weak+http429=0.2") == "offline-weak"
    assert (found.rates, found.latency_s) == ((("http429", 0.2),), 1.0)
    assert found.dials == Dials(understands=0.8, keeps=0.5)  # offline-weak's own 0.8, and the setting over its keeps
