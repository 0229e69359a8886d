"""Tasks that end with two committing calls which have to agree."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agents.contract import JSON, Reply, Termination, ToolCall, ToolResult, ToolSpec, Usage
from agents.contract.serialise import from_json, to_json
from agents.registry import method_names, resolve
from agents.runner import run_agent
from agents.toolkit.arguments import as_one
from tests.agents.agent_world import BOOK_TRAIN, LIMITS, SEARCH_TRAINS, TrainDesk, history, search_over, train_task
from tests.agents.player import Player

BOOK_ROOM = ToolSpec(
    "book_room",
    "Books a room for the night of arrival.",
    {
        "type": "object",
        "properties": {
            "arrives": {"type": "string", "description": "Hour of arrival, as the train has it"},
            "floor": {"type": ["string", "null"], "enum": ["ground", "attic", None], "description": "Floor"},
        },
        "required": ["arrives", "floor"],
        "additionalProperties": False,
    },
    commits=True,
)
TASK = train_task(tools=(SEARCH_TRAINS, BOOK_TRAIN, BOOK_ROOM))
TRAIN = {"train_id": "t1", "date": "2026-03-13", "passengers": 2, "seat": "aisle"}
ROOM = {"arrives": "12:15", "floor": "attic"}


class TwoDesks(TrainDesk):
    """Sells trains and lets rooms. ``refusals``: how often a room is refused first."""

    def __init__(self, refusals: int = 0) -> None:
        super().__init__()
        self.let: list[JSON] = []
        self.refusals = refusals

    def __call__(self, name: str, arguments: JSON) -> ToolResult:
        if name != "book_room":
            return super().__call__(name, arguments)
        if self.refusals:
            self.refusals -= 1
            return ToolResult(False, {"error": "no room at that hour"})
        self.let.append(arguments)
        return ToolResult(True, {"confirmation": "R-1"}, accepted=True)


def run(method: str, desk: TwoDesks, llm: Player | None = None):
    search = search_over(history())
    return run_agent(resolve(method), TASK, llm=llm or Player(), search=search, call_tool=desk, limits=LIMITS)


def calls(*rows: tuple[str, JSON]) -> list[Reply]:
    """A reply of native function calling for each row."""
    return [Reply("", None, (ToolCall(f"call{n}", *row),), Usage(1, 10, 5)) for n, row in enumerate(rows)]


@pytest.mark.parametrize("method", [m for m in method_names() if m not in ("react", "iba_fc")])
def test_every_method_makes_both_calls_once_and_its_action_has_the_arguments_of_both(method: str) -> None:
    desk = TwoDesks()
    done = run(method, desk)
    assert (done.termination, done.error) == (Termination.COMPLETED, "")
    assert (len(desk.sold), len(desk.let)) == (1, 1)
    assert done.action is not None
    assert (done.action.tool, done.action.then) == ("book_train", ("book_room",))
    assert done.action.arguments == {**desk.sold[0], **desk.let[0]}
    assert to_json(from_json(to_json(done))) == to_json(done)


@pytest.mark.parametrize("method", ["react", "iba_fc"])
@pytest.mark.parametrize("order", [("book_train", "book_room"), ("book_room", "book_train")])
def test_a_tool_loop_ends_when_both_calls_went_through_in_whatever_order(method: str, order: tuple[str, str]) -> None:
    desk, arguments = TwoDesks(), {"book_train": TRAIN, "book_room": ROOM}
    said = calls(("search_trains", {"city": "Leeds"}), *((name, arguments[name]) for name in order))
    done = run(method, desk, Player(tools=said))
    assert (desk.sold, desk.let) == ([TRAIN], [ROOM])
    assert done.action is not None
    assert (done.action.tool, *done.action.then) == order
    assert done.action.arguments == {**TRAIN, **ROOM}


@pytest.mark.parametrize("method", ["react", "iba_fc"])
def test_a_tool_loop_calls_no_tool_twice(method: str) -> None:
    desk = TwoDesks()
    said = calls(
        ("search_trains", {"city": "Leeds"}), ("book_train", TRAIN), ("book_train", TRAIN), ("book_room", ROOM)
    )
    run(method, desk, Player(tools=said))
    assert (desk.sold, desk.let) == ([TRAIN], [ROOM])


@pytest.mark.parametrize("method", ["react", "iba_fc"])
def test_a_model_that_stops_after_the_first_call_leaves_an_action_of_one(method: str) -> None:
    desk = TwoDesks()
    said = [*calls(("search_trains", {"city": "Leeds"}), ("book_train", TRAIN)), Reply("Done.", usage=Usage(1, 10, 5))]
    done = run(method, desk, Player(tools=said))
    assert done.action is not None
    assert (done.action.tool, done.action.then, done.action.arguments) == ("book_train", (), TRAIN)


@pytest.mark.parametrize("method", ["rag", "iba"])
def test_a_second_call_that_is_refused_is_mended_and_the_first_is_not_made_again(method: str) -> None:
    desk = TwoDesks(refusals=1)
    mended = {"arguments": {**ROOM, "floor": "ground"}}
    llm = Player(arguments=[{"arguments": {**TRAIN, **ROOM}}, mended])
    done = run(method, desk, llm)
    assert (desk.sold, desk.let) == ([TRAIN], [mended["arguments"]])
    assert done.action is not None
    assert done.action.arguments == {**TRAIN, **mended["arguments"]}
    assert '"name": "book_train"' not in llm.of("arguments")[-1]  # only what is left is asked for


@pytest.mark.parametrize("method", ["rag", "iba", "iba-synthesis"])
def test_of_a_second_call_that_never_goes_through_the_first_stays(method: str) -> None:
    desk = TwoDesks(refusals=9)
    done = run(method, desk)
    assert (len(desk.sold), desk.let) == (1, [])
    assert done.action is not None
    assert (done.action.tool, done.action.then, done.action.arguments) == ("book_train", (), desk.sold[0])


def test_an_argument_in_both_tools_is_an_error_that_names_it() -> None:
    twice = replace(BOOK_ROOM, parameters=BOOK_TRAIN.parameters)
    with pytest.raises(ValueError, match="argument 'date' of 'book_room' is named in another committing tool"):
        as_one([BOOK_TRAIN, twice])
