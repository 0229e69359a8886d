"""What comes back by itself in a year, and small stories."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from bench.catalogue import Catalogue
from bench.catalogue.facts import Fact
from bench.catalogue.routines import Routine
from bench.catalogue.texts import MACHINE
from bench.generation.everyday import apportioned, occurrences
from bench.generation.filling import Cast, Usual, filled
from bench.generation.people import draw_person
from bench.generation.placing import Days
from bench.generation.spec import DAYS, day_at

TEXTS = [{"channel": "bank", "text": f"RENT {word} {{amount:400-900}} {{ref}}"} for word in ("one", "two", "three")]


def routine(**keys) -> Routine:
    given = {"slug": "rent", "name": "Rent", "rhythm": {"month": [1]}, "texts": TEXTS}
    return Routine.model_validate(given | keys)


def fault(**keys) -> str:
    with pytest.raises(ValidationError) as error:
        routine(**keys)
    return str(error.value)


def test_a_rhythm_is_one_of_four_and_its_fault_is_named():
    assert "rhythm takes one of week, every, month, dates; found none" in fault(rhythm={})
    assert "found week, month" in fault(rhythm={"week": ["mon"], "month": [1]})
    assert "every [0, 3] must be a range within 1 to 120 days" in fault(rhythm={"every": [0, 3]})
    assert "month [31] must be days within 1 to 28" in fault(rhythm={"month": [31]})


def test_a_routine_whose_text_would_be_the_same_each_time_is_refused():
    same = [{"channel": "bank", "text": f"RENT {word} {{amount:4-9}}"} for word in ("one", "two")]
    assert "'RENT one {amount:4-9}' would be the same each time; it needs one of the slots clock, date" in fault(
        texts=same, keeps=["amount"]
    )
    assert routine(texts=same).texts
    assert "no text serves dev" in fault(texts=[{**text, "split": "test"} for text in TEXTS])


def test_a_routine_of_a_country_that_nobody_lives_in_is_named(catalogue: Catalogue):
    countries = {country.slug for country in catalogue.countries}
    assert all({*r.countries} <= countries for r in catalogue.routines.values())


def test_rhythms_come_on_their_days():
    def weekdays(**keys) -> Counter[str]:
        return Counter(f"{day_at(day):%a}" for day in occurrences(routine(**keys), Random(1)))

    # 390 days from Monday 6 January 2025: 56 Mondays, 55 of Sunday's
    assert weekdays(rhythm={"week": ["mon", "sun"]}) == {"Mon": 56, "Sun": 55}
    first = occurrences(routine(rhythm={"month": [1]}), Random(1))
    assert [f"{day_at(day):%m-%d}" for day in first] == [f"{m:02d}-01" for m in (*range(2, 13), 1)]
    dated = occurrences(routine(rhythm={"dates": ["12-24"]}), Random(1))
    assert [f"{day_at(day):%Y-%m-%d}" for day in dated] == ["2025-12-24"]
    summer = occurrences(routine(rhythm={"week": ["weekday"]}, months=[7]), Random(1))
    assert len(summer) == 23  # working days of July 2025


@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 99))
def test_what_comes_every_few_days_keeps_its_gaps(low: int, more: int, seed: int):
    days = occurrences(routine(rhythm={"every": [low, low + more]}), Random(seed))
    assert all(low <= after - before <= low + more for before, after in pairwise(days))
    assert all(0 <= day < DAYS for day in days)


def test_a_kept_amount_is_the_same_each_month_and_a_kept_time_a_few_minutes_off():
    cast, rng = Cast({"cur": "EUR"}, 1.0), Random(4)
    usual = Usual(frozenset({"amount", "time"}))
    told = [filled("{amount:400-900} {time:7-8} {ref}", cast, day_at(9), rng, usual).split() for _ in range(12)]
    assert len({amount for amount, _, _ in told}) == 1
    minutes = [int(time[:2]) * 60 + int(time[3:]) for _, time, _ in told]
    assert 1 < max(minutes) - min(minutes) <= 13  # four early to nine late
    assert len({ref for *_, ref in told}) == 12


def test_nobody_works_on_a_holiday_of_the_country(catalogue: Catalogue):
    pass_to_work = catalogue.routines["pass_to_work"].texts[0]
    days = Days(holidays=frozenset({7}))
    assert day_at(7).weekday() < 5
    assert not days.allows(7, pass_to_work)
    assert days.allows(8, pass_to_work)


@given(st.integers(0, 200), st.dictionaries(st.sampled_from("abcd"), st.integers(0, 50), min_size=1))
def test_what_is_apportioned_adds_up_and_is_nowhere_one_off(count: int, shares: dict[str, int]):
    found, total = apportioned(count, shares), sum(shares.values())
    assert sum(found.values()) == count or not total
    assert all(abs(found[name] - count * share / max(1, total)) < 1 for name, share in shares.items() if total)


def test_everybody_has_routines_of_their_own_and_most_are_kept_by_machines(catalogue: Catalogue):
    texts = [text for r in catalogue.routines.values() for text in r.texts]
    assert len(catalogue.routines) >= 25
    assert sum(text.channel in MACHINE for text in texts) / len(texts) > 0.9
    taken: set[str] = set()
    for index in range(100):
        facts = frozenset(fact.value for fact in draw_person(catalogue, index, taken, Random(index)).tags)
        assert sum(r.open_to(facts) and bool(r.needs) for r in catalogue.routines.values()) >= 4
    assert {fact for r in catalogue.routines.values() for fact in r.needs} > {Fact.RENTER, Fact.PENSION, Fact.STUDENT}
