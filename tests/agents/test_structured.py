"""Finding an object in a reply."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.model.structured import NoObject, allows_strict, extract_object, without_system_role

words = st.text().filter(lambda text: "think" not in text.lower())
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(words, values, max_size=4)
prose = st.text(alphabet=st.characters(exclude_characters="{}<>"))


@given(prose, objects, prose)
def test_an_object_survives_any_prose_around_it(before, value, after):
    assert extract_object(before + json.dumps(value) + after) == value


def test_a_mark_of_reasoning_within_a_whole_object_is_somebodys_text():
    value = {"why": "The page ends with </think> and <think>"}
    assert extract_object(json.dumps(value)) == value


@given(objects, st.data())
def test_a_cut_object_is_never_taken_for_a_whole_one(value, data):
    text = json.dumps(value)
    kept = data.draw(st.integers(1, len(text) - 1))
    with pytest.raises(NoObject, match="cut off"):
        extract_object(text[:kept])


@given(st.text())
def test_any_text_gives_an_object_or_the_reason(text):
    try:
        assert isinstance(extract_object(text), dict)
    except NoObject as reason:  # either answer is right; an empty reason is not
        assert str(reason)  # noqa: PT017


@pytest.mark.parametrize(
    "text", ['{"a": NaN}', '{"a": Infinity}', '{"a": 1e999}', "{'a': 1}", '{"a":' * 50_000 + "1" + "}" * 50_000]
)
def test_what_is_no_json_is_refused(text):
    with pytest.raises(NoObject):
        extract_object(text)


def test_strict_needs_closed_objects_all_the_way_down():
    inner = {"type": "object", "properties": {"b": {}}, "required": [], "additionalProperties": False}
    outer = {"type": "object", "properties": {"a": inner}, "required": ["a"], "additionalProperties": False}
    assert not allows_strict(outer)
    assert allows_strict(outer | {"properties": {"a": inner | {"required": ["b"]}}})


SYSTEM, USER = {"role": "system", "content": "S"}, {"role": "user", "content": "U"}
AGAIN = {"role": "user", "content": "V"}
SAID = {"role": "assistant", "content": "A"}


@pytest.mark.parametrize(
    ("messages", "sent"),
    [
        ([SYSTEM, USER], [{"role": "user", "content": "S\n\nU"}]),
        ([SYSTEM, USER, SAID, AGAIN], [{"role": "user", "content": "S\n\nU"}, SAID, AGAIN]),
        ([SYSTEM, SYSTEM, USER], [{"role": "user", "content": "S\n\nS\n\nU"}]),
        ([USER, SAID, SYSTEM, AGAIN], [{"role": "user", "content": "S\n\nU"}, SAID, AGAIN]),
        ([SYSTEM], [{"role": "user", "content": "S"}]),
        ([USER], [USER]),
    ],
)
def test_system_text_becomes_the_head_of_the_first_user_message(messages, sent):
    assert without_system_role(messages) == sent
    assert SYSTEM["content"] == "S"
    assert USER["content"] == "U"  # what the agent holds stays as it is
