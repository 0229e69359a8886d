import pytest

from annotation.transcript import part_named, parts, transcript
from bench.models import Trajectory


def test_look_ups_hold_the_tasks_own_tools_only(booking):
    read = transcript(booking)
    assert [look_up.part.text for look_up in read.look_ups] == ["find_tables"]
    assert read.look_ups[0].rows[0][:2] == ("RES-101", "Linden Room")


def test_the_accepted_call_comes_with_the_item_that_it_chose(booking):
    (call,) = transcript(booking).calls
    assert {part.label: part.text for part in call.arguments} == {"table id": "RES-101", "party": "2"}
    assert {part.name: part.text for part in call.item_fields}["item:kitchen"] == "soups and braises"


def test_a_second_commit_is_shown_too(booking):
    booking.committed = [*booking.committed, {"tool": "book_table", "arguments": {"table_id": "RES-202"}}]
    assert [call.item for call in transcript(booking).calls] == ["RES-101", "RES-202"]


def test_a_trajectory_without_an_action_has_neither_text_nor_call(meal):
    Trajectory.objects.filter(pk=meal.pk).update(data={**meal.data, "action": None})
    meal.refresh_from_db()
    read = transcript(meal)
    assert (read.paragraphs, read.calls) == ((), ())


def test_parts_have_names_that_say_what_they_are_and_not_how_many_steps_are_hidden(booking, meal):
    named = {part.name: part.text for _, group in parts(transcript(booking)) for part in group}
    assert named["lookup:1"] == "find_tables"  # the fifth step of the trajectory
    assert named["argument:party"] == "2"
    assert named["item:kitchen"] == "soups and braises"
    sentences = [part.name for _, group in parts(transcript(meal)) for part in group]
    assert sentences == ["request", "sentence:1", "sentence:2", "sentence:3"]


def test_the_evidence_of_a_checkpoint_can_be_pointed_at_and_that_of_another_cannot(booking):
    soft = booking.unit.task.checkpoints.get(position=2)
    event = soft.evidence.first()
    assert part_named(f"event:{event.pk}", transcript(booking), soft.evidence.all()).text == event.text
    assert part_named(f"event:{event.pk}", transcript(booking)) is None


def test_of_two_calls_the_last_has_the_short_names(booking):
    booking.committed = [{"tool": "book_table", "arguments": {"party": 3}}, *booking.committed]
    named = {part.name: part.text for _, group in parts(transcript(booking)) for part in group}
    assert (named["call:1:argument:party"], named["argument:party"]) == ("3", "2")


def test_of_two_tools_each_call_has_the_short_names(booking):
    booking.committed = [*booking.committed, {"tool": "set_reminder", "arguments": {"at": "18:00"}}]
    named = {part.name: part.text for _, group in parts(transcript(booking)) for part in group}
    assert (named["argument:party"], named["argument:at"]) == ("2", "18:00")
    assert (named["call:1"], named["call:2"]) == ("book_table", "set_reminder")


def test_sentences_keep_their_lines_and_paragraphs(meal):
    data = {**meal.data, "action": {**meal.data["action"], "text": "First. Second!\n- third\n\n\nFourth."}}
    Trajectory.objects.filter(pk=meal.pk).update(data=data)
    meal.refresh_from_db()
    read = [[[part.text for part in line] for line in lines] for lines in transcript(meal).paragraphs]
    assert read == [[["First.", "Second!"], ["- third"]], [["Fourth."]]]


def with_look_up(booking, **data):
    """The booking with one look-up, of whatever content."""
    step = {"stage": "act", "kind": "tool", "summary": "x", "data": {"tool": "find_tables", **data}}
    booking.data = {**booking.data, "steps": [step]}
    return transcript(booking).look_ups


@pytest.mark.parametrize("odd", ["a text", 7, 1.5, True, ["x", 1], [], {}, {"items": 7}, {"items": [1, None, "x"]}])
def test_a_look_up_of_an_odd_shape_is_shown_as_plain_text(booking, odd):
    (look_up,) = with_look_up(booking, content=odd, arguments=odd)
    assert isinstance(look_up.answer, str)
    assert look_up.rows == ()
    if odd in ("a text", 7):
        assert (look_up.answer, look_up.arguments) == (str(odd), (("arguments", str(odd)),))


def test_a_look_up_that_was_only_claimed_is_not_shown(booking):
    assert with_look_up(booking, claimed=True, content={"items": []}) == ()


@pytest.mark.parametrize("tool", [7, None, ["find_tables"], {"find_tables": 1}])
def test_a_tool_whose_name_is_no_text_is_not_shown(booking, tool):
    assert with_look_up(booking, tool=tool) == ()


def test_the_item_chosen_is_found_as_tool_and_rule_find_it(booking):
    booking.committed = [{"tool": "book_table", "arguments": {"table_id": " res_101 "}}]
    (call,) = transcript(booking).calls
    assert {part.name: part.text for part in call.item_fields}["item:kitchen"] == "soups and braises"


def test_a_rater_is_not_told_what_was_cut(meal):
    """The same text, with and without reasoning and a limit behind it, is read alike."""
    plain = transcript(meal)
    cut = {"reasoning_chars": 1234, "at_token_limit": True}
    steps = [{**step, "cut": cut} for step in meal.data["steps"]]
    action = {**meal.data["action"], "at_token_limit": True}
    meal.data = {**meal.data, "steps": steps, "action": action, "termination": "cut_off"}
    meal.termination = "cut_off"
    assert transcript(meal) == plain
