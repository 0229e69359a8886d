from dataclasses import replace

import pytest

from agents.contract import (
    Action,
    ActionKind,
    CallLimitReached,
    ContextOverflow,
    Reply,
    Stage,
    StepKind,
    Termination,
    ToolCall,
    Trajectory,
)
from agents.contract.serialise import from_json, to_json
from agents.registry import AGENTS, AgentSpec, method_names, resolve
from agents.runner import run_agent
from agents.toolkit.budget import evidence_tokens
from tests.agents.agent_world import LIMITS, TrainDesk, history, menu_task, search_over, train_task
from tests.agents.player import Player


def run(spec, task, llm=None, desk=None, limits=LIMITS):
    spec = resolve(spec) if isinstance(spec, str) else spec
    return run_agent(
        spec, task, llm=llm or Player(), search=search_over(history()), call_tool=desk or TrainDesk(), limits=limits
    )


@pytest.mark.parametrize("method", method_names())
def test_every_method_books_one_train_within_the_budget(method: str) -> None:
    desk = TrainDesk()
    done = run(method, train_task(), desk=desk)
    assert (done.termination, done.error) == (Termination.COMPLETED, "")
    assert done.action is not None
    assert desk.sold == [done.action.arguments]
    assert done.action.arguments["date"] == "2026-03-13"
    assert done.action.arguments["passengers"] == 2
    if resolve(method).equal_budget:
        assert len(done.evidence) <= LIMITS.evidence_events
        assert evidence_tokens(done.evidence) <= LIMITS.evidence_tokens


@pytest.mark.parametrize("method", method_names())
def test_every_method_writes_a_text(method: str) -> None:
    done = run(method, menu_task())
    assert (done.termination, done.error) == (Termination.COMPLETED, "")
    assert done.action is not None
    assert done.action.kind is ActionKind.GENERATE
    assert done.action.text


@pytest.mark.parametrize("method", method_names())
def test_a_trajectory_survives_json_and_is_the_same_twice(method: str) -> None:
    once, twice = run(method, train_task()), run(method, train_task())
    assert to_json(once) == to_json(twice)
    assert to_json(from_json(to_json(once))) == to_json(once)


def test_a_trajectory_of_another_format_is_refused() -> None:
    document = to_json(Trajectory(Termination.NO_ACTION)) | {"format": 99}
    with pytest.raises(ValueError, match="format 99 is not readable"):
        from_json(document)


def test_a_trajectory_of_the_format_before_is_read_with_its_slugs_as_words() -> None:
    document = to_json(run("iba", train_task())) | {"format": 1}
    for item in document["evidence"]:
        item["topic"] = item.pop("aspect")
    for item in document["constraints"]:
        item["dimension"] = "travel.seat"
        del item["about"], item["counter"]
    document["steps"][0]["stage"] = "topics"
    read = from_json(document)
    assert {item.about for item in read.constraints} == {"travel.seat"}
    assert read.steps[0].stage is Stage.RETRIEVE
    assert from_json(to_json(read)) == read


def test_a_stage_that_the_contract_does_not_know_is_another_one() -> None:
    assert (Stage("dream"), StepKind("dance")) == (Stage.OTHER, StepKind.NOTE)


def test_an_unknown_method_is_named_with_what_is_allowed() -> None:
    with pytest.raises(ValueError, match="unknown method 'iba-luck'; allowed are iba, iba_fc, rag"):
        resolve("iba-luck")


def test_only_the_oracle_uses_gold_and_only_full_history_has_no_budget() -> None:
    assert [name for name, spec in AGENTS.items() if spec.uses_gold] == ["oracle"]
    assert [name for name, spec in AGENTS.items() if not spec.equal_budget] == ["full_history"]


def test_no_history_shows_no_event_and_recency_the_newest() -> None:
    assert run("no_history", train_task()).evidence == ()
    newest = run("recency", train_task(), limits=replace(LIMITS, evidence_events=3)).evidence
    assert [item.event_id for item in newest] == ["ev08", "ev09", "ev24"]  # 25 February, 5 and 8 March


def test_a_model_error_ends_the_run_as_it_says_and_keeps_the_steps() -> None:
    done = run("iba", train_task(), Player(notes=[]))
    assert done.termination is Termination.BAD_OUTPUT
    assert "nothing more is scripted for notes" in done.error
    assert [step.stage for step in done.steps][:3] == [Stage.LOOK_UP, Stage.ACT, Stage.LOOK_UP]
    assert Stage.RETRIEVE in {step.stage for step in done.steps}
    assert done.evidence


def test_an_agent_that_breaks_leaves_its_traceback() -> None:
    def broken(task, **_):
        raise ZeroDivisionError("as planned")

    done = run(AgentSpec("broken", broken, "Broken"), train_task())
    assert done.termination is Termination.AGENT_ERROR
    assert "ZeroDivisionError: as planned" in done.error


def test_an_agent_that_reports_too_much_evidence_loses_its_action() -> None:
    def greedy(task, *, search, **_):
        return Trajectory(Termination.COMPLETED, evidence=search("", k=25), action=Action(ActionKind.GENERATE, "x"))

    done = run(AgentSpec("greedy", greedy, "Greedy"), menu_task())
    assert (done.termination, done.action) == (Termination.AGENT_ERROR, None)
    assert "25 events" in done.error


def test_an_agent_that_shows_what_it_does_not_report_is_caught() -> None:
    def sly(task, *, llm, search, **_):
        llm.complete([{"role": "user", "content": search("", k=1)[0].text}], stage=Stage.ACT)
        return Trajectory(Termination.COMPLETED, action=Action(ActionKind.GENERATE, "x"))

    done = run(AgentSpec("sly", sly, "Sly"), menu_task())
    assert done.termination is Termination.AGENT_ERROR
    assert "is not in the trajectory's evidence" in done.error


def test_full_history_drops_the_oldest_half_until_it_fits() -> None:
    class Narrow(Player):
        def complete(self, messages, **values):
            if len(str(messages)) > 2400:
                raise ContextOverflow("too long")
            return super().complete(messages, **values)

    done = run("full_history", menu_task(), Narrow())
    assert done.termination is Termination.COMPLETED
    assert done.evidence[-1].event_id == "ev24"
    assert 0 < len(done.evidence) < 25


def test_react_stops_at_the_step_limit() -> None:
    reply = Reply("", tool_calls=(ToolCall("1", "search_history", {"query": "seat"}),))
    done = run("react", train_task(), Player(tools=[reply] * 20))
    assert done.termination is Termination.STEP_LIMIT
    assert len(done.evidence) <= LIMITS.evidence_events


def test_react_that_only_talks_has_no_action() -> None:
    assert run("react", train_task(), Player(tools=[Reply("I would rather not.")])).termination is Termination.NO_ACTION


def test_the_points_of_a_reminder_stand_at_the_end_and_those_that_cite_nothing_are_dropped() -> None:
    points = {"points": [{"text": "Aisle.", "evidence": ["e2"]}, {"text": "Roof.", "evidence": ["e99"]}]}
    llm = Player(points=[points])
    done = run("reminder", train_task(), llm)
    assert [item.text for item in done.constraints] == ["Aisle."]
    assert done.constraints[0].evidence == (done.evidence[1].event_id,)
    assert llm.of("arguments")[0].endswith("## Constraints\n[c1] Aisle.\n")


def test_a_profile_is_written_without_the_request_and_all_of_it_reaches_the_action() -> None:
    lines = "\n".join(f"Likes thing {number}." for number in range(30))
    llm = Player(profile=[lines])
    run("profile", train_task(), llm)
    assert "Leeds" not in llm.of("profile")[0]
    assert all(f"> Likes thing {number}." in llm.of("arguments")[0] for number in range(30))


def test_tool_calls_are_limited() -> None:
    done = run("rag", train_task(), limits=replace(LIMITS, tool_calls=0))
    assert done.termination is CallLimitReached.termination
