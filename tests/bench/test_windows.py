from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.search.windows import search_window

NOW = datetime(2026, 3, 9, 9, 0, tzinfo=UTC)  # a Monday


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


@settings(deadline=None)
@given(st.text(max_size=80))
def test_no_text_breaks_the_reading_of_windows(text: str) -> None:
    window = search_window(text, NOW)
    assert window is None or window[0] < window[1] <= NOW
