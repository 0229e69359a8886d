from datetime import UTC, datetime, timedelta
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from agents.contract import Constraint, ConstraintKind, ConstraintStatus, Polarity
from agents.methods.iba.align import align, contradict, match_scopes
from tests.agents.agent_world import train_task
from tests.agents.player import Player

AS_OF = datetime(2026, 3, 9, 9, 0, tzinfo=UTC)
DATES = {f"ev{number}": AS_OF - timedelta(days=3 * number + 1) for number in range(12)}
SCOPES = {"with the children": True, "with colleagues": False}

# Few events and mostly open times, so that rivals of one date come up often.
_CITED = st.lists(st.sampled_from([*list(DATES)[:3], "unknown"]), max_size=2).map(tuple)
_TIMES = st.none() | st.none() | st.integers(-40, 40).map(lambda days: AS_OF + timedelta(days=days))


def constraints_about(*matters: str, first_id: int = 1) -> st.SearchStrategy:
    one = st.builds(
        Constraint,
        constraint_id=st.integers(first_id, first_id + 98).map(lambda number: f"c{number}"),
        about=st.sampled_from(matters),
        value=st.sampled_from(["a", "A", "b", "c", ""]),
        text=st.sampled_from(["one", "two"]),
        polarity=st.sampled_from(list(Polarity)),
        kind=st.sampled_from(list(ConstraintKind)),
        scope=st.sampled_from(["", "with the children", "Not with the children", "with colleagues", "at sea"]),
        valid_from=_TIMES,
        valid_until=_TIMES,
        strength=st.sampled_from([0.2, 0.5, 0.9]),
        evidence=_CITED,
    )
    return st.lists(one, max_size=8, unique_by=lambda item: item.constraint_id)


CONSTRAINTS = constraints_about("where to sit", "Where to  sit", "fare", "")


def resolved(constraints, **changes):
    values = {"dates": DATES, "as_of": AS_OF, "scopes": SCOPES, **changes}
    return align(constraints, **values)


def constraint(number: int, value: str, days_ago: int = 1, **changes) -> Constraint:
    event = next(name for name, date in DATES.items() if date == AS_OF - timedelta(days=days_ago))
    values = {
        "constraint_id": f"c{number}",
        "about": "where to sit",
        "value": value,
        "text": value,
        "evidence": (event,),
    }
    return Constraint(**{**values, **changes})


def status_of(constraints, **changes) -> dict[str, ConstraintStatus]:
    return {item.constraint_id: item.status for item in resolved(constraints, **changes)}


@settings(deadline=None)
@given(CONSTRAINTS, st.randoms(use_true_random=False))
def test_order_does_not_matter(constraints, random) -> None:
    shuffled = list(constraints)
    random.shuffle(shuffled)
    assert resolved(shuffled) == resolved(constraints)


@settings(deadline=None)
@given(CONSTRAINTS)
def test_aligning_twice_changes_nothing(constraints) -> None:
    once = resolved(constraints)
    assert resolved(once) == once


@settings(deadline=None)
@given(CONSTRAINTS)
def test_what_is_expired_has_no_effect(constraints) -> None:
    before = resolved(constraints)
    expired = {item.constraint_id for item in before if item.status is ConstraintStatus.EXPIRED}
    without = resolved([item for item in before if item.constraint_id not in expired])
    assert without == tuple(item for item in before if item.constraint_id not in expired)


@settings(deadline=None)
@given(CONSTRAINTS)
def test_no_two_contradictory_constraints_are_active(constraints) -> None:
    active = [item for item in resolved(constraints) if item.status is ConstraintStatus.ACTIVE]
    assert not [pair for pair in combinations(active, 2) if contradict(*pair)]


@settings(deadline=None)
@given(CONSTRAINTS, st.dictionaries(st.integers(100, 120).map(lambda n: f"ev{n}"), st.just(AS_OF), max_size=5))
def test_events_that_nothing_cites_change_nothing(constraints, more) -> None:
    assert resolved(constraints, dates={**DATES, **more}) == resolved(constraints)


@settings(deadline=None)
@given(CONSTRAINTS, constraints_about("what to eat", "how to pay", first_id=100))
def test_constraints_about_another_matter_change_nothing_for_the_rest(constraints, others) -> None:
    rest = {item.constraint_id for item in constraints}
    together = resolved([*constraints, *others])
    assert tuple(item for item in together if item.constraint_id in rest) == resolved(constraints)


@settings(deadline=None)
@given(CONSTRAINTS)
def test_every_constraint_kept_cites_known_events(constraints) -> None:
    assert all(item.evidence and set(item.evidence) <= DATES.keys() for item in resolved(constraints))


@settings(deadline=None)
@given(CONSTRAINTS)
def test_every_status_but_active_has_a_reason(constraints) -> None:
    assert all((item.status is ConstraintStatus.ACTIVE) == (not item.reason) for item in resolved(constraints))


def test_a_running_state_overrides_a_trait_and_an_ended_one_does_not() -> None:
    trait = constraint(1, "aisle", 7)
    state = constraint(2, "window", 4, kind=ConstraintKind.STATE, valid_until=AS_OF + timedelta(days=9))
    assert status_of([trait, state]) == {"c1": ConstraintStatus.OVERRIDDEN, "c2": ConstraintStatus.ACTIVE}
    later = AS_OF + timedelta(days=10)
    assert status_of([trait, state], day=later) == {"c1": ConstraintStatus.ACTIVE, "c2": ConstraintStatus.EXPIRED}


def test_newer_replaces_older_of_the_same_kind_and_scope_only() -> None:
    old, new = constraint(1, "aisle", 31), constraint(2, "window", 4)
    assert status_of([old, new]) == {"c1": ConstraintStatus.SUPERSEDED, "c2": ConstraintStatus.ACTIVE}
    narrow = constraint(3, "window", 31, kind=ConstraintKind.CONDITIONAL, scope="with the children")
    other = constraint(4, "aisle", 4, kind=ConstraintKind.CONDITIONAL, scope="not with colleagues")
    assert set(status_of([narrow, other]).values()) == {ConstraintStatus.UNRESOLVED}


def test_a_condition_holds_where_its_scope_does_and_its_opposite_where_not() -> None:
    trait = constraint(1, "aisle", 4)
    conditional = constraint(2, "window", 31, kind=ConstraintKind.CONDITIONAL, scope="with the children")
    opposite = constraint(3, "roof", 31, kind=ConstraintKind.CONDITIONAL, scope="not with the children")
    both = [trait, conditional, opposite]
    assert status_of(both) == {
        "c1": ConstraintStatus.OVERRIDDEN,
        "c2": ConstraintStatus.ACTIVE,
        "c3": ConstraintStatus.OUT_OF_SCOPE,
    }
    alone = status_of(both, scopes={"with the children": False})
    assert alone == {
        "c1": ConstraintStatus.OVERRIDDEN,
        "c2": ConstraintStatus.OUT_OF_SCOPE,
        "c3": ConstraintStatus.ACTIVE,
    }


def test_a_scope_of_which_nothing_is_known_stays_open_and_beats_nothing() -> None:
    trait = constraint(1, "aisle", 4)
    conditional = constraint(2, "window", 1, kind=ConstraintKind.CONDITIONAL, scope="at sea")
    assert status_of([trait, conditional]) == {"c1": ConstraintStatus.ACTIVE, "c2": ConstraintStatus.UNRESOLVED}


def test_a_constraint_whose_winner_is_beaten_comes_back() -> None:
    """Mild on day 1; hot as a state from day 80; hot refused as a state from day 90: mild holds on day 100."""
    start = AS_OF - timedelta(days=100)
    dates = {f"day{day}": start + timedelta(days=day) for day in (1, 80, 90)}

    def taste(number: int, value: str, day: int, **changes) -> Constraint:
        return Constraint(f"c{number}", "how hot to eat", value, value, evidence=(f"day{day}",), **changes)

    mild = taste(1, "mild", 1)
    hot = taste(2, "hot", 80, kind=ConstraintKind.STATE)
    no_hot = taste(3, "hot", 90, kind=ConstraintKind.STATE, polarity=Polarity.AGAINST)
    found = align([mild, hot, no_hot], dates=dates, as_of=AS_OF)
    assert {item.constraint_id: item.status for item in found} == {
        "c1": ConstraintStatus.ACTIVE,
        "c2": ConstraintStatus.SUPERSEDED,
        "c3": ConstraintStatus.ACTIVE,
    }
    assert {item.constraint_id: item.status for item in align([mild, hot], dates=dates, as_of=AS_OF)} == {
        "c1": ConstraintStatus.OVERRIDDEN,
        "c2": ConstraintStatus.ACTIVE,
    }


def test_a_state_that_begins_after_the_action_does_not_hold_yet() -> None:
    coming = constraint(1, "aisle", kind=ConstraintKind.STATE, valid_from=AS_OF + timedelta(days=3))
    assert status_of([coming]) == {"c1": ConstraintStatus.OUT_OF_SCOPE}
    assert status_of([coming], day=AS_OF + timedelta(days=4)) == {"c1": ConstraintStatus.ACTIVE}


def test_one_question_asks_for_a_scope_and_its_opposite() -> None:
    llm = Player(scopes=lambda prompt: {"scopes": [{"id": "s1", "holds": "yes"}, {"id": "s2", "holds": "unknown"}]})
    scopes = ["with the children", "Not with the children", "", "at sea"]
    found = match_scopes(
        train_task(), [constraint(number, "x", scope=scope) for number, scope in enumerate(scopes)], AS_OF, llm=llm
    )
    assert found == {"at sea": True, "with the children": None}
    assert "## Day\nMonday 2026-03-09\n\n## Scopes\n[s1] at sea\n[s2] with the children\n" in llm.of("scopes")[0]
    assert match_scopes(train_task(), [constraint(1, "x")], AS_OF, llm=Player(scopes=[])) == {}


def test_equally_new_contradictions_stay_unresolved() -> None:
    assert set(status_of([constraint(1, "aisle"), constraint(2, "window")]).values()) == {ConstraintStatus.UNRESOLVED}
