from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from agents.contract import Evidence, Limits
from agents.methods.iba.select import STATE, Candidate, choose, fold
from agents.toolkit.budget import evidence_tokens, fit
from tests.agents.agent_world import LIMITS, at, history


def candidate(event_id: str, day: str, text: str, topic: str = "t", signal: float = 1.0) -> Candidate:
    return Candidate(Evidence(event_id, at(day), "note", text), topic, signal)


def test_near_copies_become_support_of_the_newest() -> None:
    old = candidate("a", "2026-03-01", "two coffees at the corner shop")
    new = candidate("b", "2026-03-03", "Two coffees at the corner shop!")
    (kept,) = fold([old, new])
    assert (kept.event.event_id, kept.event.support) == ("b", ("a",))


def test_opposite_polarity_is_never_folded() -> None:
    one = candidate("a", "2026-03-01", "I eat fish on any day of the week now, with lemon")
    other = candidate("b", "2026-03-02", "I never eat fish on any day of the week now, with lemon")
    assert len(fold([one, other])) == 2


def test_a_repetition_after_months_is_not_folded() -> None:
    assert (
        len(fold([candidate("a", "2025-03-01", "same words here"), candidate("b", "2026-03-01", "same words here")]))
        == 2
    )


def test_folding_does_not_depend_on_the_order() -> None:
    found = [
        Candidate(event, "t", 1.0)
        for event in (*history(), *(replace(e, event_id=f"x{e.event_id}") for e in history()))
    ]
    assert fold(found) == fold(found[::-1])


def test_a_running_state_has_a_slot_even_with_a_weak_signal() -> None:
    strong = [candidate(f"s{n}", "2026-02-01", f"strong number {n} of many", signal=5.0 + n) for n in range(20)]
    state = candidate("state", "2026-03-05", "nothing hard to chew until the 20th", topic=STATE, signal=0.01)
    chosen = choose([*strong, state], weights={"t": 1.0, STATE: 0.1}, limits=LIMITS)
    assert "state" in {event.event_id for event in chosen}


def test_counter_evidence_has_a_slot() -> None:
    limits = replace(LIMITS, evidence_events=4)
    plain = [candidate(f"p{n}", "2025-06-01", f"steak number {n} was great {n * 'x'}", signal=5.0) for n in range(9)]
    turn = candidate("turn", "2026-02-01", "I no longer eat steak", signal=0.01)
    chosen = choose([*plain, turn], weights={"t": 1.0}, limits=limits)
    assert "turn" in {event.event_id for event in chosen}


def test_every_topic_gets_its_share() -> None:
    loud = [candidate(f"l{n}", "2026-01-01", f"loud {n} {chr(97 + n) * 4}", "loud", 9.0) for n in range(15)]
    quiet = [candidate(f"q{n}", "2026-01-02", f"quiet {n} {chr(97 + n) * 5}", "quiet", 0.1) for n in range(15)]
    chosen = choose([*loud, *quiet], weights={"loud": 1.0, "quiet": 1.0}, limits=replace(LIMITS, evidence_events=10))
    assert sum(event.topic == "quiet" for event in chosen) == 5


@settings(deadline=None)
@given(st.integers(0, 30), st.integers(0, 400), st.lists(st.integers(0, 24), max_size=40))
def test_the_budget_holds_whatever_is_found(events: int, tokens: int, picks: list[int]) -> None:
    limits = Limits(evidence_events=events, evidence_tokens=tokens)
    found = [Candidate(history()[pick], f"t{pick % 3}", pick / 10) for pick in picks]
    for chosen in (
        choose(found, weights={"t0": 1.0, "t1": 0.5}, limits=limits),
        fit([c.event for c in found], limits),
    ):
        assert len(chosen) <= events
        assert evidence_tokens(chosen) <= tokens
        assert len({event.event_id for event in chosen}) == len(chosen)
