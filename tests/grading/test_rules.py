from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.grading.normalise import Ambiguous, Unreadable, normalise
from bench.grading.rules import RuleVerdict, check, validate
from bench.grading.types import VerdictValue

NOW = datetime(2026, 3, 10, 9, tzinfo=UTC)
WORLD = {"items": {"T1": {"coach": "quiet", "price_eur": 42.5}, "T2": {"coach": "sociable"}}}


def value_of(rule, *calls, world=WORLD, as_of=NOW):
    committed = [{"tool": "book_train", "arguments": arguments} for arguments in calls]
    return check(rule, committed=committed, world=world, as_of=as_of).value.value


SAME = [
    ("integer", 25, [25, 25.0, "25", " 25 ", "25.0", "+25"]),
    ("number", 1250.5, ["1250.5", "1,250.50", 1250.5, "1250,5", "1.250,50", "1 250.5", "1\u202f250,50", "1'250.50"]),
    ("integer", 1000, ["1 000", "1\u00a0000", "1\u2009000", "1,000", "1000.000", "+1 000"]),
    ("integer", 1234567, ["1 234 567", "1.234.567", "1,234,567", "1'234'567"]),
    ("number", -5.5, ["\u22125.5", "-5,5", "\u2212 5.5", "\uff0d5.5", "\u20135.5"]),
    ("number", 0.125, ["0.125", 0.125]),
    ("integer", 2, ["two", "Two", "2", 2.0]),
    ("time", "19:00", ["7 pm", "7pm", "7:00 PM", "7 p.m.", "19.00", "19h00", "19:00:00", "2026-03-14T19:00"]),
    ("time", "00:30", ["12:30 am", "0:30", "00:30"]),
    ("time", "12:00", ["noon", "12 pm", "midday"]),
    (
        "date",
        "2026-03-14",
        [
            "14 March 2026",
            "March 14, 2026",
            "14 Mar",
            "Friday the 14th of March",
            "14.03.2026",
            "14/03/2026",
            "03/14/2026",
            "2026-03-14T18:00:00Z",
            "20260314",
            "2026/03/14",
            "2026/3/14",
            "2026-3-14",
            "2026.3.14",
            "14-Mar-2026",
            "14/March/2026",
            "2026 Mar 14",
            "Mar-14-2026",
            "\uff12\uff10\uff12\uff16-03-14",
            "2026\u20113\u201114",
        ],
    ),
    ("date", "2026-03-11", ["tomorrow", "Tomorrow"]),
    ("string", "extra_legroom", ["Extra legroom", "extra-legroom", " EXTRA  LEGROOM "]),
    ("boolean", True, [True, "true", "Yes", 1]),
    ("weekday", "Tuesday", ["tuesday", "Tue", "Tues", "Tuesdays", " TUE. "]),
    ("weekday", "Thursday", ["thu", "Thurs"]),
    ("list", ["Milk", "eggs"], [["milk", "Eggs"], "milk, eggs", ("MILK", " eggs")]),
]
OTHER = [
    ("integer", 25, [26, "25.5", "25 km", True, "many", "", None, [25]]),
    ("integer", 1, [True]),
    ("integer", 1000, ["1 00", "1 0000", "10 00", "1 000 0", "1,00,0", "1.00.0", "1 .000"]),
    ("time", "19:00", ["7 am", "7", "19:01", "25:00", "13 pm", "evening"]),
    (
        "date",
        "2026-03-14",
        ["2026-03-15", "14 March 2025", "14", "March", "31 February", "soon", "30.02.2026"],
    ),
    ("string", "aisle", ["window", "aisle seat", ["aisle"], {"seat": "aisle"}]),
    ("boolean", True, [False, "no", "maybe"]),
    ("weekday", "Tuesday", ["Thursday", "2", "every day", "", None]),
    ("list", ["milk", "eggs"], [["eggs", "milk"], ["milk"], ["milk", "eggs", "eggs"]]),
]


@pytest.mark.parametrize(("kind", "wanted", "given_"), [(k, w, v) for k, w, values in SAME for v in values])
def test_the_same_value_in_another_form_passes(kind, wanted, given_):
    assert value_of({"argument": "x", "equals": wanted, "type": kind}, {"x": given_}) == "pass"


@pytest.mark.parametrize(("kind", "wanted", "given_"), [(k, w, v) for k, w, values in OTHER for v in values])
def test_another_value_fails(kind, wanted, given_):
    assert value_of({"argument": "x", "equals": wanted, "type": kind}, {"x": given_}) == "fail"


def test_order_matters_unless_the_rule_says_not():
    rule = {"argument": "x", "equals": ["milk", "eggs", "eggs"], "type": "list"}
    assert value_of(rule, {"x": ["eggs", "milk", "eggs"]}) == "fail"
    assert value_of(rule | {"unordered": True}, {"x": ["eggs", "milk", "Eggs"]}) == "pass"
    assert value_of(rule | {"unordered": True}, {"x": ["eggs", "milk"]}) == "fail"


@pytest.mark.parametrize(
    ("unit", "wanted", "given_", "verdict"),
    [
        ("minutes", 90, "1.5 hours", "pass"),
        ("minutes", 90, 90, "pass"),
        ("minutes", 90, "90 min", "pass"),
        ("km", 1, "1000 m", "pass"),
        ("EUR", 25, "€25", "pass"),
        ("EUR", 25, "25 euros", "pass"),
        ("EUR", 25, "25 USD", "fail"),
        ("EUR", 25, "$25", "fail"),
        ("minutes", 90, "90 km", "fail"),
        ("nights", 3, "3 nights", "pass"),
    ],
)
def test_units_are_converted_and_never_mixed(unit, wanted, given_, verdict):
    rule = {"argument": "x", "equals": wanted, "type": "number", "unit": unit}
    assert value_of(rule, {"x": given_}) == verdict


def test_a_date_that_can_be_read_in_two_ways_is_left_to_people():
    rule = {"argument": "day", "equals": "2026-04-03", "type": "date"}
    verdict = check(rule, committed=[{"tool": "t", "arguments": {"day": "03/04/2026"}}], world={}, as_of=NOW)
    assert verdict.value is VerdictValue.CANNOT_JUDGE
    assert "day first or month first" in verdict.rationale


@pytest.mark.parametrize("written", ["1.250", "-12.500", "\u2212999.000"])
def test_a_number_whose_point_may_group_or_divide_is_left_to_people(written):
    rule = {"argument": "x", "equals": 1250, "type": "number"}
    assert value_of(rule, {"x": written}) == "cannot_judge"


def test_dates_are_read_in_the_time_zone_of_the_task():
    tokyo = NOW.astimezone(timezone(timedelta(hours=9)))
    rule = {"argument": "day", "equals": "2026-03-15", "type": "date"}
    assert value_of(rule, {"day": "2026-03-14T20:00:00Z"}, as_of=tokyo) == "pass"
    assert value_of(rule, {"day": "2026-03-14T20:00:00Z"}) == "fail"


def test_a_date_without_year_is_the_next_one():
    assert value_of({"argument": "x", "equals": "2027-01-05", "type": "date"}, {"x": "5 January"}) == "pass"
    assert value_of({"argument": "x", "equals": "2028-02-29", "type": "date"}, {"x": "29 Feb"}) == "pass"


def test_any_value_of_a_list_will_do():
    rule = {"argument": "seat", "in": ["aisle", "extra_legroom"]}
    assert value_of(rule, {"seat": "Extra Legroom"}) == "pass"
    assert value_of(rule, {"seat": "window"}) == "fail"


def test_the_item_is_looked_up_in_the_world():
    rule = {"item_field": "coach", "equals": "quiet", "item_argument": "train_id"}
    assert value_of(rule, {"train_id": "t1 "}) == "pass"
    assert value_of(rule, {"train_id": "T2"}) == "fail"
    assert value_of(rule, {"train_id": "T2", "coach": "quiet"}) == "fail"  # what it says of itself does not count
    assert value_of(rule, {"train_id": "T9"}) == "fail"
    assert value_of(rule, {}) == "fail"
    price = {"item_field": "price_eur", "in": [42.5], "item_argument": "train_id"}
    assert (value_of(price, {"train_id": "T1"}), value_of(price, {"train_id": "T2"})) == ("pass", "fail")


def test_required_and_optional_arguments():
    rule = {"argument": "seat", "equals": "aisle"}
    assert value_of(rule, {}) == value_of(rule, {"seat": None}) == value_of(rule, {"seat": " "}) == "fail"
    optional = rule | {"required": False}
    assert value_of(optional, {}) == "pass"
    assert value_of(optional, {"seat": "window"}) == "fail"
    assert value_of(optional | {"default": "window"}, {}) == "fail"
    assert value_of(optional | {"default": "Aisle"}, {}) == "pass"


@pytest.mark.parametrize(
    "rule",
    [
        {"argument": "x", "equals": 1},
        {"committed": "book_train"},
        {"item_field": "coach", "equals": "quiet", "item_argument": "train_id"},
        {"argument": "seat", "equals": "aisle", "required": False},
    ],
)
def test_no_commit_and_two_commits_fail_every_rule(rule):
    good = {"x": 1, "train_id": "T1"}
    assert value_of(rule, good) == "pass"
    assert check(rule, committed=[], world=WORLD, as_of=NOW) == RuleVerdict(
        VerdictValue.FAIL, "no committing call was made"
    )
    twice = [{"tool": "book_train", "arguments": good}] * 2
    assert check(rule, committed=twice, world=WORLD, as_of=NOW).rationale == (
        "2 committing calls were made; one of each tool is right"
    )


def two_calls(stay, journey=None):
    journey = journey or {"train_id": "T1"}
    return [{"tool": "book_train", "arguments": journey}, {"tool": "book_room", "arguments": stay}]


@pytest.mark.parametrize("rule", [{"committed": "book_train"}, {"committed": "book_room"}])
def test_of_two_tools_each_is_called_once(rule):
    assert check(rule, committed=two_calls({"nights": 2}), world=WORLD, as_of=NOW).value.value == "pass"
    third = [*two_calls({"nights": 2}), {"tool": "book_room", "arguments": {"nights": 2}}]
    assert check(rule, committed=third, world=WORLD, as_of=NOW).rationale == (
        "3 committing calls were made; one of each tool is right"
    )


def test_a_rule_finds_its_argument_in_whichever_of_two_calls_has_it():
    committed = two_calls({"nights": 2})
    for rule in ({"argument": "nights", "equals": 2}, {"argument": "train_id", "equals": "T1"}):
        assert check(rule, committed=committed, world=WORLD, as_of=NOW).value.value == "pass"


@pytest.mark.parametrize(
    ("stay", "journey", "verdict", "said"),
    [
        ({"price": "42,50"}, {"train_id": "t1"}, "pass", "argument price is '42,50'"),
        ({"price": 40}, {"train_id": "T1"}, "fail", "argument price is 40; 42.5 expected"),
        ({}, {"train_id": "T1"}, "fail", "argument price is missing"),
        ({"price": 42.5}, {"train_id": "T2"}, "fail", "the item chosen has no price_eur"),
        ({"price": 42.5}, {"train_id": "T9"}, "fail", "there is no item 'T9'"),
        ({"price": 42.5}, {"seat": "aisle"}, "fail", "argument train_id chooses no item"),
    ],
)
def test_an_argument_that_has_to_be_like_a_field_of_the_item_chosen(stay, journey, verdict, said):
    rule = {"argument": "price", "like_field": "price_eur", "item_argument": "train_id", "type": "number"}
    found = check(rule, committed=two_calls(stay, journey), world=WORLD, as_of=NOW)
    assert (found.value.value, found.rationale) == (verdict, said)


def test_committed_names_the_tool():
    verdict = check({"committed": "book_bus"}, committed=[{"tool": "book_train", "arguments": {}}], world={}, as_of=NOW)
    assert verdict == RuleVerdict(VerdictValue.FAIL, "book_train was called; book_bus expected")


def test_a_failure_says_what_was_there_and_what_was_expected():
    rule = {"argument": "seat", "in": ["aisle", "window"]}
    verdict = check(rule, committed=[{"tool": "t", "arguments": {"seat": "floor"}}], world={}, as_of=NOW)
    assert verdict.rationale == "argument seat is 'floor'; 'aisle' or 'window' expected"


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        ({}, "exactly one of"),
        ({"argument": "a", "committed": "t"}, "exactly one of"),
        ({"argument": "a"}, "one of 'equals', 'in' and 'like_field'"),
        ({"argument": "a", "equals": 1, "in": [1]}, "one of 'equals', 'in' and 'like_field'"),
        ({"argument": "a", "in": []}, "non-empty list"),
        ({"argument": "a", "in": "abc"}, "non-empty list"),
        ({"item_field": "a", "equals": 1}, "item_argument"),
        ({"argument": "a", "like_field": "b"}, "item_argument"),
        ({"argument": "a", "equals": 1, "type": "colour"}, "unknown type 'colour'"),
        ({"argument": "a", "equals": 1, "equal": 1}, r"unknown keys \['equal'\]"),
    ],
)
def test_a_malformed_rule_is_named(rule, fault):
    with pytest.raises(ValueError, match=fault):
        validate(rule)


def test_an_unreadable_expectation_is_a_fault_of_the_rule():
    with pytest.raises(Unreadable):
        value_of({"argument": "x", "equals": "soon", "type": "date"}, {"x": "2026-03-14"})
    with pytest.raises(Ambiguous):
        value_of({"argument": "x", "equals": "03/04/2026", "type": "date"}, {"x": "2026-03-14"})


def form(value, kind, **more):
    return normalise(value, kind, as_of=NOW, **more)


@given(st.dates(date(2000, 1, 1), date(2099, 12, 31)))
def test_every_date_reads_the_same_in_every_form(day):
    forms = ["%Y-%m-%d", "%d %B %Y", "%B %d, %Y", "%d.%m.%Y", "%A %d %b %Y", "%Y%m%d", "%Y-%m-%dT23:59:59"]
    assert {form(day.strftime(f), "date") for f in forms} == {day}


@given(st.times())
def test_every_time_reads_the_same_on_both_clocks(moment):
    twelve = f"{(moment.hour + 11) % 12 + 1}:{moment.minute:02d} {'pm' if moment.hour >= 12 else 'am'}"
    assert form(twelve, "time") == form(f"{moment.hour:02d}:{moment.minute:02d}", "time")
    assert form(twelve, "time") == moment.hour * 3600 + moment.minute * 60


@given(st.integers(-(10**9), 10**9))
def test_every_whole_number_reads_the_same_in_every_form(n):
    assert {form(v, "integer") for v in (n, float(n), str(n), f"{n}.0", f"{n:,}")} == {form(n, "number")}


@given(st.lists(st.sampled_from(["milk", "Eggs", "rye bread"])), st.randoms(use_true_random=False))
def test_unordered_lists_ignore_order_only(items, rng):
    shuffled = list(items)
    rng.shuffle(shuffled)
    assert form(items, "list", unordered=True) == form(shuffled, "list", unordered=True)
    assert form(items, "list", unordered=True) != form([*items, "tea"], "list", unordered=True)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(anything, st.sampled_from([(k, w) for k, w, _ in SAME]))
def test_no_argument_crashes_a_rule(value, expectation):
    kind, wanted = expectation
    assert value_of({"argument": "x", "equals": wanted, "type": kind}, {"x": value}) in (
        "pass",
        "fail",
        "cannot_judge",
    )


@pytest.mark.parametrize(
    ("kind", "wanted", "within", "right", "wrong"),
    [
        ("number", 12.5, 1.0, [11.5, 12.5, "13.50", 13], [11.49, 13.51, -12.5, "", None]),
        ("integer", 4, 1, [3, 4, "5"], [2, 6, "4.5"]),
        ("number", 0.3, 0.1, [0.2, 0.4], [0.19, 0.41]),  # 0.2 + 0.1 is no 0.3 in floats
        ("time", "23:55", 10, ["23:45", "00:05", "12:05 am"], ["23:44", "00:06", "11:55"]),
        ("time", "06:40", 0, ["6:40 am"], ["06:41"]),
    ],
)
def test_a_value_is_right_within_its_tolerance_and_wrong_beyond_it(kind, wanted, within, right, wrong):
    rule = {"argument": "limit", "equals": wanted, "type": kind, "within": within}
    assert {value_of(rule, {"limit": one}) for one in right} == {"pass"}
    assert {value_of(rule, {"limit": one}) for one in wrong} == {"fail"}


def test_a_verdict_says_how_far_off_a_value_may_be():
    rule = {"argument": "limit", "equals": 12.5, "type": "number", "within": 1.5}
    found = check(rule, committed=[{"tool": "book", "arguments": {"limit": 15}}], world=WORLD, as_of=NOW)
    assert found.rationale == "argument limit is 15; 12.5 expected, within 1.5"


@pytest.mark.parametrize(
    "rule",
    [
        {"argument": "day", "equals": "Tuesday", "type": "weekday", "within": 1},
        {"argument": "limit", "in": [1, 2], "type": "number", "within": 1},
        {"argument": "limit", "equals": 1, "within": 1},
        {"argument": "limit", "equals": 1, "type": "number", "within": -1},
    ],
)
def test_a_tolerance_goes_with_one_value_that_is_measured(rule):
    with pytest.raises(
        ValueError, match="'within' is 0 or more and goes with 'equals' and a type of time, integer, number"
    ):
        validate(rule)
