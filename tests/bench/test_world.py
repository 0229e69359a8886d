from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.contract import ToolSpec
from bench.grading.rules import check
from bench.runs.world import ToolWorld

NOW = datetime(2026, 3, 10, 9, tzinfo=UTC)

FIND = ToolSpec(
    "search_trains",
    "Lists trains.",
    {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "kind": {"type": "string"},
            "day": {"type": "string", "format": "date"},
        },
        "required": [],
        "additionalProperties": False,
    },
)
BOOK = ToolSpec(
    "book_train",
    "Buys.",
    {
        "type": "object",
        "properties": {
            "train_id": {"type": "string"},
            "passengers": {"type": "integer"},
            "day": {"type": "string", "format": "date"},
        },
        "required": ["train_id"],
        "additionalProperties": False,
    },
    commits=True,
)
WORLD = {
    "items": [
        {"id": "TRA-1", "city": "Ghent", "kind": "sleeper coach", "day": "2026-03-14"},
        {"id": "TRA-2", "city": "Porto", "kind": "bus", "day": "2026-03-15"},
    ],
    "filters": {"search_trains": {"city": "city", "kind": "kind", "day": "day"}},
    "item_argument": "train_id",
}


def world() -> ToolWorld:
    return ToolWorld((FIND, BOOK), WORLD, NOW)


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


def test_a_second_committing_tool_needs_no_item_and_is_remembered_after_the_first():
    room = ToolSpec(
        "book_room", "Lets.", {"type": "object", "properties": {"nights": {"type": "integer"}}}, commits=True
    )
    tools = ToolWorld((FIND, BOOK, room), WORLD, NOW)
    assert tools("book_train", {"train_id": "TRA-1"}).accepted
    assert tools("book_room", {"nights": 2}).accepted
    assert [call["tool"] for call in tools.committed] == ["book_train", "book_room"]


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


def found(**asked) -> list[str]:
    return [item["id"] for item in world()("search_trains", asked).content["items"]]


@pytest.mark.parametrize("kind", ["Sleeper Coaches", "a sleeper coach", "the SLEEPER-COACH", "sleepers coach"])
def test_a_look_up_matches_without_case_article_and_plural(kind):
    assert found(kind=kind) == ["TRA-1"]


def test_a_plural_in_es_is_matched_and_another_word_is_not():
    assert found(kind="buses") == ["TRA-2"]
    assert found(kind="bush") == []


def test_a_look_up_reads_a_date_in_any_form_that_a_rule_reads():
    assert found(day="14 March 2026") == found(day="2026/3/14") == ["TRA-1"]


def test_null_in_a_look_up_stands_for_any_value():
    assert found(city=None, kind=None) == ["TRA-1", "TRA-2"]


def test_a_look_up_that_matches_nothing_says_so_and_which_values_there_are():
    answer = world()("search_trains", {"city": "Paris", "kind": "bus"})
    assert not answer.ok
    assert answer.content == {
        "items": [],
        "total": 0,
        "error": "no item for city 'Paris', kind 'bus'; city is one of Ghent, Porto; kind is one of bus, sleeper coach",
    }


def test_an_argument_that_does_not_exist_is_answered_with_those_that_do():
    error = world()("search_trains", {"town": "Ghent"}).content["error"]
    assert error == "arguments: town is unknown; arguments are city, day, kind"


def test_an_argument_of_another_type_is_answered_with_the_form_wanted():
    error = world()("book_train", {"train_id": "TRA-1", "passengers": "1 000"}).content["error"]
    assert error == "passengers: '1 000' does not fit; give a whole number such as 2"


def test_what_is_missing_in_a_call_is_named_with_all_that_must_be_given():
    error = world()("book_train", {"passengers": 2}).content["error"]
    assert error == "arguments: train_id missing; all of train_id must be given"


def test_a_value_that_is_no_choice_is_answered_with_the_choices():
    seat = {"type": ["string", "null"], "enum": ["aisle", "window", None]}
    book = replace(BOOK, parameters={**BOOK.parameters, "properties": {**BOOK.parameters["properties"], "seat": seat}})
    tools = ToolWorld((FIND, book), WORLD, NOW)
    error = tools("book_train", {"train_id": "TRA-1", "seat": "wing"}).content["error"]
    assert error == "seat: 'wing' is no choice; give one of 'aisle', 'window', null"


@pytest.mark.parametrize("day", ["soon", "03/04/2026", "2026-02-30", "", "9" * 5000, "\ud800"])
def test_a_date_that_a_rule_cannot_read_or_reads_in_two_ways_is_refused_with_the_form_wanted(day):
    tools = world()
    answer = tools("book_train", {"train_id": "TRA-1", "day": day})
    assert not answer.accepted
    assert answer.content["error"].endswith("give a date such as 2026-03-14")
    assert tools.committed == []


@pytest.mark.parametrize("name", ["tra-1", "TRA_1", " TRA 1 "])
def test_the_tool_and_the_rule_find_the_same_item(name):
    tools = world()
    assert tools("book_train", {"train_id": name}).accepted
    rule = {"item_field": "city", "equals": "Ghent", "item_argument": "train_id"}
    items = {item["id"]: item for item in WORLD["items"]}
    assert check(rule, committed=tools.committed, world={"items": items}, as_of=NOW).value == "pass"


FORMS = ("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d-%b-%Y", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d %B %Y", "%d%m%Y")


@given(st.dates(date(2000, 1, 1), date(2099, 12, 31)), st.sampled_from(FORMS) | st.text(max_size=12))
def test_whatever_date_the_tool_accepts_the_rule_reads(day, form):
    tools = world()
    if tools("book_train", {"train_id": "TRA-1", "day": day.strftime(form) if form in FORMS else form}).accepted:
        rule = {"argument": "day", "equals": day.isoformat(), "type": "date"}
        verdict = check(rule, committed=tools.committed, world={}, as_of=NOW)
        assert verdict.value == "pass" if form in FORMS else verdict.value in ("pass", "fail")
        assert "is not a date" not in verdict.rationale
    else:
        assert form not in FORMS or form == "%d%m%Y" or ("/" in form and day.day <= 12)
