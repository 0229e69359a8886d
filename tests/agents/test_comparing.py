import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.methods.iba.retrieve import option_queries
from agents.toolkit.comparing import Comparison, compare, double_centred, standing_out, topical
from tests.agents.agent_world import VOCABULARY, embed, history, search_over

EVENTS = history()


def test_double_centring_takes_off_both_means() -> None:
    # Row means 2 and 3, column means 2 and 3, mean 2.5: 1 - 2 - 2 + 2.5 = -0.5.
    assert double_centred(np.array([[1.0, 3.0], [3.0, 3.0]])).tolist() == [[-0.5, 0.5], [0.5, -0.5]]


def test_a_search_that_cannot_compare_is_asked_query_by_query() -> None:
    found = compare(search_over(EVENTS), ["chillies", "aisle"])
    assert found.dense.shape == found.lexical.shape == (len(EVENTS), 2)
    assert [event.occurred_at for event in found.events] == sorted(event.occurred_at for event in EVENTS)


def test_an_event_stands_out_for_its_own_topic() -> None:
    groups, queries = option_queries(VOCABULARY)
    dense = embed([event.text for event in EVENTS], "passage") @ embed(queries, "query").T
    table = topical(Comparison(EVENTS, dense, np.zeros_like(dense)), groups)
    curry = next(number for number, event in enumerate(EVENTS) if "Curry with hot" in event.text)
    assert VOCABULARY[int(table[curry].argmax())].slug == "dining.spice"


def test_what_stands_out_elsewhere_counts_less() -> None:
    # Chosen topic 0; the best of the others is 2 and 0: 1 - 0.4 * 2 = 0.2 and 1 - 0 = 1.
    table = np.array([[1.0, 2.0, 0.5], [1.0, 0.0, -1.0]])
    assert standing_out(table, [0])[:, 0].tolist() == [1 - 0.4 * 2.0, 1.0]


@settings(deadline=None)
@given(st.integers(0, 6), st.integers(0, 4))
def test_tables_of_any_size_stay_finite(events: int, topics: int) -> None:
    groups = [slice(2 * number, 2 * number + 2) for number in range(topics)]
    dense = np.ones((events, 2 * topics), np.float32)
    table = topical(Comparison(EVENTS[:events], dense, dense), groups)
    assert table.shape == (events, topics)
    assert np.isfinite(table).all()
