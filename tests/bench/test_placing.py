from __future__ import annotations

from datetime import UTC, date, datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.catalogue import Catalogue, State, Text
from bench.catalogue.texts import Channel, of_split
from bench.generation.filling import cast_of, filled, money
from bench.generation.people import draw_person
from bench.generation.placing import Days, Deck, Facts, moment, weekdays
from bench.generation.spec import StatePeriod, day_at, day_number


def note(text: str, **keys) -> Text:
    return Text(channel=Channel.NOTE, text=text, **keys)


def deck(*facts: str) -> Deck:
    return Deck(Facts(set(facts), set(facts)), "test", frozenset({"plain"}), Random(1))


def test_a_text_that_presumes_what_is_not_so_is_never_drawn():
    texts = [note("a", needs=["garden"]), note("b", excludes=["car"]), note("c"), note("{child} sang")]
    assert {text.text for text in deck("car").draw_from(texts, 9)} == {"c"}
    assert {text.text for text in deck("garden", "parent").draw_from(texts, 9)} == {"a", "b", "c", "{child} sang"}


def test_texts_that_fewer_lives_hold_are_drawn_first():
    texts = [note(f"text {n}") for n in range(12)]
    holders: dict[str, list[str]] = {}
    for life in range(6):
        Deck(Facts(set(), set()), "test", frozenset({"plain"}), Random(life), holders, str(life)).draw_from(texts, 4)
    # Six lives of four out of twelve: each stands in two of them.
    assert {text: len(lives) for text, lives in holders.items()} == {text.text: 2 for text in texts}


def test_a_fact_that_a_text_ends_carries_no_text_afterwards():
    life = deck("car")
    assert life.draw_from([note("sold the old thing", needs=["car"], sets={"car": False})], 1)
    assert life.draw_from([note("boot full of leaves", needs=["car"])], 1) == []


def test_a_fact_that_a_text_leans_on_is_not_ended():
    life = deck("car")
    assert life.draw_from([note("boot full of leaves", needs=["car"])], 1)
    assert life.draw_from([note("no more driving", sets={"car": False})], 1) == []


def test_nobody_is_away_and_at_home_on_one_day():
    days = Days()
    assert days.place(40, note("landed in Porto", does=["flies"])) == 40
    assert days.place(40, note("watered the plants", does=["at_home"])) == 41
    assert days.place(40, note("late shift", does=["works"])) == 41


def test_a_state_forbids_what_it_bars_while_it_lasts(catalogue: Catalogue):
    state = next(iter(catalogue.domains["healthcare"].states.values()))
    barring = State.model_validate(state.model_dump() | {"bars": ["sport"]})
    period = StatePeriod("healthcare", barring, date(2025, 10, 6), date(2025, 10, 16))
    days = Days((period,))
    inside = day_number(date(2025, 10, 8))
    assert days.place(inside, note("five laps", does=["sport"])) == day_number(date(2025, 10, 17))
    assert days.place(inside, note("read a lot", does=["screen"])) == inside


@given(st.integers(0, 300), st.sampled_from(["weekday", "weekend", "wed", "sun"]))
def test_a_text_stands_on_the_kind_of_day_and_at_the_hours_it_is_marked_with(day: int, kind: str):
    text = note("x", day=kind, hours="morning")
    placed = Days().place(day, text)
    assert placed is not None
    weekday = day_at(placed).weekday()
    assert weekday in {"weekday": range(5), "weekend": (5, 6), "wed": (2,), "sun": (6,)}[kind]
    assert 6 <= moment(placed, text, Random(day)).hour <= 10


def test_texts_out_of_season_are_left_out():
    assert Days().place(day_number(date(2025, 6, 1)), note("first snow", months=[12, 1])) is None
    assert Days().place(day_number(date(2025, 12, 3)), note("first snow", months=[12, 1])) is not None


@given(st.integers(1, 40))
def test_each_unmarked_text_serves_exactly_one_split(count: int):
    texts = [note(f"text {n}") for n in range(count)]
    dev, test = of_split(texts, "dev"), of_split(texts, "test")
    assert (*dev, *test) == tuple(texts)
    assert len(dev) == (0 if count == 1 else int(count * 3 / 8 + 0.5))


def test_slots_are_filled_with_the_names_of_the_life_and_the_amounts_of_its_country(catalogue: Catalogue):
    person = draw_person(catalogue, 3, set(), Random(1))
    country = next(c for c in catalogue.countries if c.slug == person.country)
    cast = cast_of(person, country, Random(1))
    at = datetime(2025, 3, 14, tzinfo=UTC)
    assert filled("{friend} rang, then {friend}", cast, at, Random(2)).split()[0] == cast.names["friend"]
    assert filled("{weekday} {date}, {tomorrow}", cast, at, Random(2)) == "Friday 14 March, Saturday"
    assert filled("{nobody} {day:iso}", cast, at, Random(2)) == "{nobody} {day:iso}"
    assert cast.names["town"] in person.town
    assert cast.names["town2"] != cast.names["town"]


def test_amounts_are_written_as_a_country_writes_them():
    # 640 cents: at 0.9 5.76; at 11 70.4 crowns, whole; at 160 1,024 yen, to ten; at 1,650 10,560 naira, to a hundred
    assert [money(640, rate) for rate in (0.9, 11, 160, 1650)] == ["5.76", "70", "1020", "10500"]


@pytest.mark.parametrize(
    ("words", "days"),
    [
        ("Sat: optician for her, slippers for him", {5}),
        ("06:30 Sat church hall jumble", {5}),
        ("SAT 08:11 DIY STORE 25.00", {5}),
        ("back on sun 14", {6}),
        ("saw the queue at the tip on saturday", {5}),
        ("sundays are for the stove", {6}),
        ("half the town has sat on it", set(range(7))),
        ("it hailed, peas, then sun, then hail", set(range(7))),
        ("Sat under the sign 'B' with forty others", set(range(7))),
        ("they were wed in our church", set(range(7))),
    ],
)
def test_a_word_is_a_weekday_only_where_it_is_written_as_one(words, days):
    assert weekdays(Text(channel=Channel.NOTE, text=words)) == days
