"""Readers that name a value: a planted fault is found, a clean world is passed. Chance 1/3, limit 0.3633."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from bench.generation.validity.content import TypedQuestion
from bench.generation.validity.values import by_words, latest_wins, majority, memoriser, typed_of_dev
from tests.bench.validity.worlds import VALUES, content, question, record

LIMIT = pytest.approx(1 / 3 + 0.03)


def test_a_value_that_is_frequent_on_both_splits_is_found_by_the_majority():
    dev = [question("a", "dev"), question("a", "dev"), question("b", "dev")]
    planted = majority(content([*dev, question("a"), question("a"), question("b")]))
    assert (planted.value, planted.limit, planted.verdict) == (pytest.approx(2 / 3), LIMIT, "not met")
    clean = majority(content([*dev, *map(question, VALUES)]))
    assert (clean.value, clean.verdict) == (pytest.approx(1 / 3), "met")


def test_two_values_equally_frequent_on_dev_earn_half_each():
    found = majority(content([question("a", "dev"), question("b", "dev"), question("a"), question("c")]))
    assert found.value == pytest.approx((1 / 2 + 0) / 2)


def test_cues_that_stand_word_for_word_in_dev_are_found_by_the_memoriser():
    dev = [record(f"text of {value}", value, "dev") for value in VALUES]
    known = [record(f"text of {value}", value) for value in VALUES]
    planted = memoriser(content(list(map(question, VALUES)), [*dev, *known]))
    assert (planted.value, planted.limit, planted.verdict) == (1.0, LIMIT, "not met")
    assert planted.offenders == ("test a: is a", "test b: is b", "test c: is c")
    own = [record(f"own text of {value}", value) for value in VALUES]
    clean = memoriser(content(list(map(question, VALUES)), [*dev, *own]))
    assert (clean.value, clean.verdict, clean.offenders) == (pytest.approx(1 / 3), "met", ())


def test_the_memoriser_takes_the_latest_text_before_the_request():
    dev = [record(f"text of {value}", value, "dev") for value in VALUES]
    days = {"b": 2, "a": 3, "c": 20}  # the request comes on the 15th
    life = [record(f"text of {value}", persona="test a", day=day) for value, day in days.items()]
    assert memoriser(content([question("a")], [*dev, *life])).value == 1.0


@pytest.mark.parametrize("where", ["request", "facts"])
def test_words_of_the_request_or_of_the_person_that_go_with_a_value_are_found(where):
    def world(split, words):
        return [question(value, split, **{where: word}) for value, word in zip(VALUES, words, strict=True)]

    def read(one):
        return getattr(one, where)

    told, same = ["quick one", "slow one", "late one"], ["the same one"] * 3
    planted = by_words(where, content([*world("dev", told), *world("test", told)]), read)
    assert (planted.value, planted.limit, planted.verdict) == (1.0, LIMIT, "not met")
    # each value once on dev, no word apart: all three tie, and each test checkpoint earns a third
    clean = by_words(where, content([*world("dev", same), *world("test", same)]), read)
    assert (clean.value, clean.verdict) == (pytest.approx(1 / 3), "met")


def test_a_history_without_states_and_conditions_is_found_by_the_latest_cue():
    people = ["p1", "p2", "p3", "p4"]
    asked = [question("a", persona=person) for person in people]
    plain = [record(f"cue {person}", "a", persona=person, day=3) for person in people]
    planted = latest_wins(content(asked, plain))
    assert (planted.value, planted.limit, planted.verdict) == (1.0, 0.75, "not met")
    # the last person showed b later, and a state makes a right all the same: 3 of 4
    clean = latest_wins(content(asked, [*plain, record("later", "b", persona="p4", day=9)]))
    assert (clean.value, clean.verdict) == (0.75, "met")


def test_typed_answers_that_are_the_same_on_both_splits_are_found():
    """Chance 1/5. Dev has 12 twice and 15; who says 12 is right for 12.80 within 1, and not for 13.50."""

    def asked(value: str, split: str) -> TypedQuestion:
        return TypedQuestion(value, f"{split} {value}", split, "dining.lunch", "amount", value, Decimal("1.0"), 1 / 5)

    dev = [asked(value, "dev") for value in ("12.00", "12.00", "15.00")]
    planted = typed_of_dev(replace(content(), typed=(*dev, asked("12.80", "test"), asked("11.50", "test"))))
    assert (planted.value, planted.limit, planted.verdict) == (1.0, pytest.approx(1 / 5 + 0.03), "not met")
    clean = typed_of_dev(replace(content(), typed=(*dev, asked("13.50", "test"), asked("9.00", "test"))))
    assert (clean.value, clean.verdict) == (0.0, "met")
    assert typed_of_dev(replace(content(), typed=(asked("9.00", "test"),))).value == pytest.approx(1 / 5)


def test_without_dev_every_reader_that_learns_is_left_with_chance():
    assert majority(content([question("a")])).value == pytest.approx(1 / 3)


def test_without_test_nothing_is_measured():
    assert majority(content([question("a", "dev")])).verdict == "not measured"


def test_the_latest_text_alone_leaves_two_values_where_it_rules_one_out():
    """b is out, then c is out: who believes the last text alone guesses between a and b, 1/2."""
    described = {"dining.spice": {value: f"likes {value}" for value in VALUES}}
    life = [
        record("no b", "b", persona="p", role="against", day=2),
        record("no c", "c", persona="p", role="against", day=3),
    ]
    found = latest_wins(content([question("a", persona="p")], life, described))
    assert (found.value, found.verdict) == (pytest.approx(1 / 2), "met")
