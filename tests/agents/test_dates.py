from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.toolkit.dates import action_day, announced, find_days, find_spans, search_window, validity

NOW = datetime(2026, 3, 9, 9, 0, tzinfo=UTC)  # a Monday


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("on 2026-03-14", date(2026, 3, 14)),
        ("by Friday the 13th", date(2026, 3, 13)),
        ("on the 8th", date(2026, 4, 8)),  # the 8th of March is over
        ("14 March", date(2026, 3, 14)),
        ("March 14th, 2027", date(2027, 3, 14)),
        ("on Friday", date(2026, 3, 13)),
        ("last Friday", date(2026, 3, 6)),
        ("next Monday", date(2026, 3, 16)),
        ("tomorrow", date(2026, 3, 10)),
        ("on Friday the 14th", date(2026, 8, 14)),  # the next 14th that is a Friday
    ],
)
def test_a_day_is_read_relative_to_now(text: str, day: date) -> None:
    assert find_days(text, NOW) == (day,)


@pytest.mark.parametrize(
    ("text", "last_day"),
    [
        ("keep left side free till the 20th", date(2026, 3, 20)),
        ("boot stays on for eight days", date(2026, 3, 16)),
        ("no gym for a fortnight", date(2026, 3, 22)),
        ("soup through Friday", date(2026, 3, 13)),
        ("only until 2 April", date(2026, 4, 2)),
    ],
)
def test_a_text_tells_how_long_it_holds(text: str, last_day: date) -> None:
    span = validity(text, NOW)
    assert span is not None
    assert (span.until - timedelta(days=1)).date() == last_day


@pytest.mark.parametrize(
    ("text", "last_day"),
    [
        ("keep left side free till the 20th", date(2026, 3, 20)),
        ("Jo's 18 nights. New keys Thursday", date(2026, 3, 26)),  # the later of the two
        ("boot comes off Monday the 16th", date(2026, 3, 16)),
        ("REPLACEMENT ACTIVE 1 April", date(2026, 4, 1)),
    ],
)
def test_a_text_may_speak_of_a_time_ahead(text: str, last_day: date) -> None:
    span = announced(text, NOW)
    assert span is not None
    assert (span.until - timedelta(days=1)).date() == last_day


@pytest.mark.parametrize("text", ["ten days ago", "twice a week", "5 years", "back tomorrow", "on 3 March", "12 eggs"])
def test_a_text_of_the_past_of_a_day_or_of_years_announces_nothing(text: str) -> None:
    assert announced(text, NOW) is None


@pytest.mark.parametrize("text", ["nothing of the sort", "until we meet again", "99 for a ticket", "on the 45th"])
def test_a_text_without_a_limit_has_none(text: str) -> None:
    assert validity(text, NOW) is None


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("what did I eat last spring", date(2025, 3, 1), date(2025, 6, 1)),
        ("two weeks ago", date(2026, 2, 20), date(2026, 2, 27)),  # 23 February, half a week each way
        ("the hotel last month", date(2026, 2, 1), date(2026, 3, 1)),
        ("what was it in November", date(2025, 11, 1), date(2025, 12, 1)),
    ],
)
def test_a_question_about_the_past_names_its_window(text: str, since: date, until: date) -> None:
    window = search_window(text, NOW)
    assert window is not None
    assert (window[0].date(), window[1].date()) == (since, until)


def test_the_future_is_no_window_to_search() -> None:
    assert search_window("a train next week", NOW) is None


def test_the_action_takes_place_on_the_first_day_ahead_or_now() -> None:
    assert action_day("dinner on Friday the 13th", NOW).date() == date(2026, 3, 13)
    assert action_day("dinner as always", NOW) == NOW


@settings(deadline=None)
@given(st.text(max_size=80))
def test_no_text_breaks_the_reader(text: str) -> None:
    for span in find_spans(text, NOW):
        assert span.since < span.until
