from __future__ import annotations

from random import Random

import pytest

from bench.catalogue import Catalogue, Person
from bench.generation.people import draw_person

APART = [
    ("partner", "single"),
    ("partner", "lives_alone"),
    ("parent", "lives_alone"),
    ("flat", "house"),
    ("owner", "renter"),
    ("city", "village"),
    ("ground_floor", "upper_floor"),
    ("employed", "retired"),
    ("student", "retired"),
    ("young", "grandparent"),
    ("native_english", "second_language"),
    ("partner_she", "partner_he"),
]
TOGETHER = [
    ("car", {"drives"}),
    ("garden", {"house", "ground_floor"}),
    ("two_children", {"parent"}),
    ("parent", {"baby", "small_child", "school_child", "teenager"}),
    ("mortgage", {"owner"}),
    ("dog", {"pet"}),
    ("commutes", {"employed"}),
]


@pytest.fixture(scope="module")
def people(catalogue: Catalogue) -> list[Person]:
    taken: set[str] = set()
    return [draw_person(catalogue, index, taken, Random(f"7/{index}")) for index in range(400)]


def test_four_hundred_people_are_distinct_by_name_and_by_age_town_trade_and_household(people: list[Person]):
    assert len({person.slug for person in people}) == 400
    assert len({person.name for person in people}) == 400
    assert len({(person.age, person.town, person.job, person.household) for person in people}) == 400


def test_people_live_in_twenty_countries_and_more_and_are_17_to_90(people: list[Person]):
    assert len({person.country for person in people}) >= 20
    assert min(person.age for person in people) <= 18
    assert max(person.age for person in people) >= 85
    assert all(17 <= person.age <= 90 for person in people)


@pytest.mark.parametrize("facts", APART, ids=" and ".join)
def test_facts_that_contradict_each_other_never_hold_together(people: list[Person], facts: tuple[str, str]):
    assert not [person.name for person in people if {*facts} <= {fact.value for fact in person.tags}]


@pytest.mark.parametrize(("fact", "one_of"), TOGETHER, ids=[fact for fact, _ in TOGETHER])
def test_a_fact_that_needs_another_never_stands_alone(people: list[Person], fact: str, one_of: set[str]):
    holding = [{found.value for found in person.tags} for person in people if fact in person.tags]
    assert holding
    assert all(facts & one_of for facts in holding)


def test_nobody_became_a_parent_before_21_or_after_45(people: list[Person]):
    gaps = [person.age - years for person in people for years in person.children]
    assert len(gaps) > 100
    assert min(gaps) >= 21
    assert max(gaps) <= 45


def test_the_same_stream_gives_the_same_person_and_another_stream_another(catalogue: Catalogue):
    first, again, other = (draw_person(catalogue, 5, set(), Random(seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
