"""What was cut from a model's replies stands in the trajectory, over the wire from a server that sends it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.contract import Action, ActionKind, Cut, Stage, StepKind, Termination, Trajectory, Usage
from agents.contract.serialise import from_json, to_json
from agents.registry import AgentSpec, resolve
from agents.runner import run_agent
from agents.toolkit.recorder import Recorder
from tests.agents.agent_world import LIMITS, TrainDesk, history, menu_task, search_over, train_task
from tests.agents.asking import ASK, SEAT
from tests.agents.support import completion

TEXT = "Soup on Monday."
BOOKING = {"train_id": "t1", "date": "2026-03-13", "passengers": 2, "seat": "aisle"}


def act(script, bench, method, task) -> Trajectory:
    return run_agent(
        resolve(method), task, llm=bench.llm(script.url, limits=LIMITS, schema_mode="prompt"),
        search=search_over(history()), call_tool=TrainDesk(), limits=LIMITS,
    )  # fmt: skip


def write(script, bench, content: str, finish: str = "stop") -> Trajectory:
    """One call: the menu, by the method without any history."""
    script.says(content, finish=finish)
    return act(script, bench, "no_history", menu_task())


def calls(tool: str, arguments: dict[str, Any], finish: str) -> tuple[int, dict[str, str], Any]:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return 200, {}, completion(None, finish, tool_calls=[{"id": "1", "type": "function", "function": function}])


@pytest.mark.parametrize(
    ("content", "cut"),
    [
        (f"<think>Soft?</think>{TEXT}", 20),  # 7 for <think>, 5, 8 for </think>
        (f"Soft?</think>{TEXT}", 13),  # 5 and 8
        (f"{TEXT}<think>Or mash", 14),  # 7 and 7
        (f"<think>a</think>{TEXT}<think>bc", 25),  # 7 + 1 + 8 and 7 + 2
        (TEXT, 0),
    ],
)
def test_a_step_says_how_many_characters_of_reasoning_were_cut(script, bench, content, cut):
    done = write(script, bench, content)
    assert (done.action.text, done.termination) == (TEXT, Termination.COMPLETED)
    assert [step.cut for step in done.steps] == [Cut(reasoning_chars=cut)]


def test_a_text_that_ended_at_the_token_limit_is_kept_and_does_not_count_as_completed(script, bench):
    done = write(script, bench, TEXT, finish="length")
    assert (done.action.text, done.action.at_token_limit) == (TEXT, True)
    assert done.termination is Termination.CUT_OFF
    assert done.steps[0].cut == Cut(at_token_limit=True)


def test_only_the_reply_behind_the_action_decides_how_a_trajectory_ends(script, bench):
    script.answers = [(200, {}, completion("She likes the aisle", "length")), (200, {}, completion(TEXT))]
    done = act(script, bench, "profile", menu_task())
    assert [step.cut.at_token_limit for step in done.steps if step.kind is StepKind.MODEL] == [True, False]
    assert done.termination is Termination.COMPLETED


def test_a_reply_that_thought_until_the_limit_leaves_a_step_that_says_so(script, bench):
    done = write(script, bench, "<think>Soup or mash", finish="length")
    assert (done.termination, done.action) == (Termination.BAD_OUTPUT, None)
    (step,) = done.steps
    assert step.cut == Cut(reasoning_chars=19, at_token_limit=True)  # 7 for <think> and 12
    assert step.summary == "Asked the model (act); its reply can't be used."


@pytest.mark.parametrize(("finish", "ending"), [("tool_calls", Termination.COMPLETED), ("length", Termination.CUT_OFF)])
@pytest.mark.parametrize("method", ["react", "iba_fc"])
def test_a_call_of_a_reply_that_ended_at_the_limit_does_not_count_as_completed(script, bench, method, finish, ending):
    # Nothing is looked up, searched for or drawn, so the plan is not asked for either.
    thoughts = [{"calls": []}, {"when": "", "aspects": []}, {"queries": []}, "Nothing.", {"constraints": []}]
    said = [thought if isinstance(thought, str) else json.dumps(thought) for thought in thoughts]
    before = [(200, {}, completion(text)) for text in said] if method == "iba_fc" else []
    script.answers = [*before, calls("book_train", BOOKING, finish)]
    done = act(script, bench, method, train_task())
    assert (done.error, done.action.arguments) == ("", BOOKING)
    assert (done.termination, done.action.at_token_limit) == (ending, finish == "length")


def test_arguments_of_a_reply_that_ended_at_the_limit_do_not_count_as_completed(script, bench):
    said = completion(json.dumps({"arguments": BOOKING}) + " And so", "length")
    script.answers = [(200, {}, completion(json.dumps({"calls": []}))), (200, {}, said)]
    done = act(script, bench, "no_history", train_task())
    assert (done.action.arguments, done.termination) == (BOOKING, Termination.CUT_OFF)


@pytest.mark.parametrize(
    ("said", "text", "ending", "taken"),
    [
        (f"<think>Soft?</think>{TEXT}", TEXT, Termination.COMPLETED, 20),  # 7 for <think>, 5, 8 for </think>
        ("<think>Soft?", None, Termination.NO_ACTION, 12),
        (TEXT, TEXT, Termination.COMPLETED, 0),
    ],
)
def test_the_text_of_anybodys_agent_is_kept_without_what_it_thought_aloud(bench, said, text, ending, taken):
    def agent(task, *, llm, search, call_tool, limits):
        return Trajectory(Termination.COMPLETED, action=Action(ActionKind.GENERATE, text=said))

    done = run_agent(
        AgentSpec("own", agent, "own"), menu_task(), llm=bench.llm("http://127.0.0.1:9"),
        search=search_over(history()), call_tool=TrainDesk(), limits=LIMITS,
    )  # fmt: skip
    assert (done.action.text if done.action else None, done.termination) == (text, ending)
    assert [step.cut.reasoning_chars for step in done.steps] == [taken] * (taken > 0)


def test_what_was_cut_is_saved_with_the_trajectory_and_earlier_ones_are_still_read(script, bench):
    done = write(script, bench, f"<think>Soft?</think>{TEXT}", finish="length")
    document = to_json(done)
    assert document["steps"][0]["cut"] == {"reasoning_chars": 20, "at_token_limit": True}
    assert from_json(json.loads(json.dumps(document))) == done
    del document["steps"][0]["cut"], document["action"]["at_token_limit"], document["usage"]["estimated_calls"]
    earlier = from_json(document)
    assert (earlier.steps[0].cut, earlier.action.at_token_limit) == (Cut(), False)


def test_a_trajectory_counts_the_calls_whose_tokens_were_estimated(script, bench):
    counted, uncounted = completion("She likes the aisle"), completion(TEXT)
    del uncounted["usage"]
    script.answers = [(200, {}, counted), (200, {}, uncounted)]
    done = act(script, bench, "profile", menu_task())
    assert (done.usage.calls, done.usage.estimated_calls) == (2, 1)


def test_a_reply_whose_repair_could_not_be_asked_for_was_paid_for_and_is_a_step(script, bench):
    refusal = {"error": {"message": "the context is too long", "code": "context_length_exceeded"}}
    script.answers = [(200, {}, completion("no object here")), (400, {}, refusal)]
    llm = bench.llm(script.url, schema_mode="prompt", price_in_per_mtok_usd=1.0)

    def agent(task, *, llm, search, call_tool, limits):
        with Recorder(llm=llm, call_tool=call_tool, limits=limits) as notes:
            notes.complete(ASK, stage=Stage.ACT, schema=SEAT)
        raise AssertionError("unreachable")

    spec = AgentSpec("own", agent, "own")
    done = run_agent(spec, menu_task(), llm=llm, search=search_over(history()), call_tool=TrainDesk(), limits=LIMITS)
    assert done.termination is Termination.CONTEXT_OVERFLOW
    assert done.usage == Usage(1, 100, 10, pytest.approx(0.0001))
    assert [(step.kind, step.data["reply"]) for step in done.steps] == [(StepKind.MODEL, "no object here")]
