from annotation.transcript import transcript
from bench.models import Trajectory


def test_look_ups_hold_the_tasks_own_tools_only(booking):
    read = transcript(booking)
    assert [look_up.tool for look_up in read.look_ups] == ["find_tables"]
    assert read.look_ups[0].rows[0][:2] == ("RES-101", "Linden Room")


def test_the_accepted_call_comes_with_the_item_that_it_chose(booking):
    (call,) = transcript(booking).calls
    assert dict(call.arguments) == {"table id": "RES-101", "party": "2"}
    assert dict(call.item_fields)["kitchen"] == "soups and braises"


def test_a_second_commit_is_shown_too(booking):
    booking.committed = [*booking.committed, {"tool": "book_table", "arguments": {"table_id": "RES-202"}}]
    assert [call.item for call in transcript(booking).calls] == ["RES-101", "RES-202"]


def test_a_trajectory_without_an_action_has_neither_text_nor_call(meal):
    Trajectory.objects.filter(pk=meal.pk).update(data={**meal.data, "action": None})
    meal.refresh_from_db()
    read = transcript(meal)
    assert (read.text, read.calls) == ("", ())
