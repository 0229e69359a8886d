"""A persona's history at one look."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from pytest_django.asserts import assertContains, assertNotContains

from bench.models import Event, Persona
from bench.pages.queries.timeline import Change, Span, Turn, timeline

PATH = "/datasets/small/personas/small-p0/"


@pytest.fixture
def persona(dataset):
    """Three events of a device log, and two tasks, in the 59 days of January and February 2023; another in January."""
    persona = Persona.objects.get(slug="small-p0")
    for position, day in enumerate((1, 2, 10)):
        moment = datetime(2023, 1, day, tzinfo=UTC)
        Event.objects.filter(persona=persona, position=position).update(occurred_at=moment)
    Event.objects.filter(persona=persona, position=2).update(channel="note")
    persona.tasks.update(as_of=datetime(2023, 2, 28, 12, tzinfo=UTC))
    persona.states = [{"state": "dining.dental_work", "start": "2023-02-01", "end": "2023-02-03"}]
    change = {"dimension": "dining.spice", "was": "hot", "value": "mild", "changed_on": "2023-01-11"}
    persona.traits = [change, {"dimension": "dining.tone", "value": "dry", "changed_on": ""}]
    persona.save()
    return persona


def test_ticks_stand_where_their_moment_lies_between_the_first_and_the_last_month(persona):
    line = timeline(persona, gold=False)
    # of 59 days: 1 January is day 0, 2 January 1/59 = 16.9 of 1,000, 10 January 9/59 = 152.5
    assert [(row.name, row.count, row.path) for row in line.channels] == [
        ("device_log", 2, "M0 0V10M16.9 0V10"),
        ("note", 1, "M152.5 0V10"),
    ]
    assert (line.tasks.count, line.tasks.path) == (2, "M991.5 0V10")  # both at once, 58.5/59
    assert [(mark.label, mark.when, mark.percent) for mark in line.marks] == [
        ("Jan", "2023-01", 0), ("Feb", "2023-02", pytest.approx(52.54))  # 31/59
    ]  # fmt: skip
    assert line.title == "2023"


def test_states_and_changes_are_spans_for_those_who_may_see_gold(persona):
    line = timeline(persona, gold=True)
    # 1 to 3 February, both days whole: 31/59 to 34/59
    assert line.states == (Span("dining.dental_work", date(2023, 2, 1), date(2023, 2, 3), 525.4, 50.9),)
    assert line.changes == (Change("dining.spice", "hot", "mild", date(2023, 1, 11), 169.5),)  # 10/59
    hidden = timeline(persona, gold=False)
    assert (hidden.states, hidden.changes) == ((), ())


def test_circumstances_that_changed_are_shown_to_everybody_who_may_read_the_history(persona, viewer):
    sold = {"slug": "car_sold", "on": "2023-01-11", "what": "Sold the car", "before": ["car"], "after": ["transit"]}
    persona.background = {**persona.background, "changes": [sold]}
    persona.save()
    # 10/59 of 1,000
    assert timeline(persona, gold=False).turns == (
        Turn("Sold the car", date(2023, 1, 11), 169.5, ("car",), ("transit",)),
    )
    page = viewer.get(PATH)
    assertContains(page, "Circumstances that changed")
    assertContains(page, "11 Jan 2023, until then car, since")
    assertNotContains(page, "car_sold")


def test_a_history_of_many_years_is_marked_by_years(persona):
    Event.objects.filter(persona=persona, position=0).update(occurred_at=datetime(2019, 11, 5, tzinfo=UTC))
    marks = timeline(persona, gold=False).marks
    assert [mark.when for mark in marks] == ["2019", "2020", "2021", "2022", "2023"]
    assert marks[0].percent == 0


def test_a_history_without_an_event_has_no_timeline(persona, viewer):
    persona.events.all().delete()
    assert timeline(persona, gold=True) is None
    assertContains(viewer.get(PATH), "No event fits.")


def test_the_page_shows_what_changed_to_adjudicators_only(persona, adjudicator, viewer):
    page = adjudicator.get(PATH)
    assertContains(page, "hot until 11 Jan, then mild")
    assertContains(page, "dining.dental work")
    page = viewer.get(PATH)
    assertNotContains(page, "until 11 Jan")
    assertNotContains(page, "dental")
    assertContains(page, "tasks asked")


@pytest.mark.parametrize(
    ("when", "events"), [("2023-01", 3), ("2023", 3), ("2023-02", 0), ("2022", 0), ("2023-13", 3), ("'; --", 3)]
)
def test_a_month_or_a_year_narrows_the_list_and_nothing_else_does(when, events, persona, viewer):
    page = viewer.get(PATH, {"when": when})
    assert page.context["page_obj"].paginator.count == events
