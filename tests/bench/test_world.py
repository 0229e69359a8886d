from __future__ import annotations

from agents.contract import ToolSpec
from bench.runs.world import ToolWorld

FIND = ToolSpec(
    "search_trains",
    "Lists trains.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": [], "additionalProperties": False},
)
BOOK = ToolSpec(
    "book_train",
    "Buys.",
    {
        "type": "object",
        "properties": {"train_id": {"type": "string"}, "passengers": {"type": "integer"}},
        "required": ["train_id"],
        "additionalProperties": False,
    },
    commits=True,
)
WORLD = {
    "items": [{"id": "TRA-1", "city": "Ghent"}, {"id": "TRA-2", "city": "Porto"}],
    "filters": {"search_trains": {"city": "city"}},
    "commit": "book_train",
    "item_argument": "train_id",
}


def world() -> ToolWorld:
    return ToolWorld((FIND, BOOK), WORLD)


def test_a_look_up_filters_and_ignores_case():
    assert [item["id"] for item in world()("search_trains", {"city": "ghent"}).content["items"]] == ["TRA-1"]


def test_a_look_up_without_filters_lists_all_and_commits_nothing():
    tools = world()
    assert tools("search_trains", {}).content["total"] == 2
    assert tools.committed == []


def test_the_committing_call_is_remembered_each_time_it_is_accepted():
    tools = world()
    assert tools("book_train", {"train_id": "TRA-1"}).accepted
    assert tools("book_train", {"train_id": "TRA-2"}).accepted
    assert [call["arguments"]["train_id"] for call in tools.committed] == ["TRA-1", "TRA-2"]


def test_a_call_for_an_item_that_does_not_exist_is_refused_with_the_remedy():
    tools = world()
    result = tools("book_train", {"train_id": "TRA-9"})
    assert not result.accepted
    assert "take an id from a look-up" in result.content["error"]
    assert tools.committed == []


def test_arguments_that_do_not_fit_the_schema_are_named():
    result = world()("book_train", {"train_id": "TRA-1", "passengers": "two"})
    assert result.content["error"].startswith("passengers:")


def test_an_unknown_tool_is_answered_with_the_known_ones():
    assert "search_trains, book_train" in world()("fly", {}).content["error"]
