from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from agents.contract import Evidence, Limits
from agents.methods.iba.select import Basket, folded, fused
from agents.methods.iba.stages import Lane
from agents.toolkit.budget import evidence_tokens, fit
from tests.agents.agent_world import LIMITS, at, history


def event(event_id: str, day: str, text: str, score: float = 0.0) -> Evidence:
    return Evidence(event_id, at(day), "note", text, score)


def test_copies_become_support_of_the_newest() -> None:
    old = event("a", "2026-03-01", "two coffees at the corner shop, 5.20")
    new = event("b", "2026-03-03", "Two coffees at the corner shop! 6.10")
    standing = folded([old, new])
    assert standing["a"] == standing["b"] == replace(new, support=("a",))


def test_one_word_more_makes_two_messages() -> None:
    one = event("a", "2026-03-01", "I eat fish on any day of the week now, with lemon")
    other = event("b", "2026-03-02", "I never eat fish on any day of the week now, with lemon")
    assert len({found.event_id for found in folded([one, other]).values()}) == 2


def test_a_repetition_after_months_is_not_folded() -> None:
    found = folded([event("a", "2025-03-01", "same words here"), event("b", "2026-03-01", "same words here")])
    assert found["a"].event_id == "a"


def test_folding_does_not_depend_on_the_order() -> None:
    found = [*history(), *(replace(e, event_id=f"x{e.event_id}") for e in history())]
    assert folded(found) == folded(found[::-1])


def test_an_event_counts_by_the_request_and_by_the_best_of_the_behaviours() -> None:
    a, b, c = (event(name, "2026-01-01", name) for name in "abc")
    request = (replace(a, score=3.0), replace(b, score=1.0))  # 1 and -1 deviations; c counts as the worst
    first = (replace(a, score=3.0), replace(b, score=1.0))  # 1 and -1
    second = (replace(b, score=9.0), replace(c, score=5.0))  # 1 and -1
    assert fused(request, [first, second]) == {"a": 2.0, "b": 0.0, "c": -2.0}


def test_a_request_that_tells_nothing_leaves_the_order_to_the_behaviours() -> None:
    a, b = (event(name, "2026-01-01", name, 1.0) for name in "ab")
    assert fused((a, b), [(replace(b, score=2.0), a)]) == {"a": -1.0, "b": 1.0}


def test_lanes_take_turns_and_a_short_one_leaves_its_turn() -> None:
    loud = Lane("loud", tuple(event(f"l{n}", "2026-01-01", f"loud {n}") for n in range(9)))
    quiet = Lane("quiet", (event("q0", "2026-01-02", "quiet"),))
    basket = Basket(LIMITS)
    assert basket.take_turns([loud, quiet], 4) == 4
    assert [(found.event_id, found.aspect) for found in basket.taken] == [
        ("l0", "loud"), ("q0", "quiet"), ("l1", "loud"), ("l2", "loud"),
    ]  # fmt: skip


def test_an_event_folded_into_one_that_was_taken_is_not_taken_again() -> None:
    basket = Basket(LIMITS)
    basket.take_turns([Lane("", (replace(event("b", "2026-01-02", "x"), support=("a",)),))], 1)
    assert basket.take_turns([Lane("", (event("a", "2026-01-01", "x"),))], 1) == 0


@settings(deadline=None)
@given(st.integers(0, 30), st.integers(0, 400), st.floats(0, 1), st.lists(st.integers(0, 24), max_size=40))
def test_the_budget_holds_whatever_is_found(events: int, tokens: int, reserve: float, picks: list[int]) -> None:
    limits = Limits(evidence_events=events, evidence_tokens=tokens)
    found = [history()[pick] for pick in picks]
    basket = Basket(limits)
    basket.take_turns([Lane("a", tuple(found[::2])), Lane("b", tuple(found[1::2]))], 99, reserve)
    for chosen, share in ((tuple(basket.taken), 1 - reserve), (fit(found, limits), 1.0)):
        assert len(chosen) <= events * share
        assert evidence_tokens(chosen) <= tokens * share
        assert len({one.event_id for one in chosen}) == len(chosen)
