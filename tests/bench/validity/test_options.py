"""Readers of what is on offer: place, length and likeness tell the right one only where a fault is planted."""

from __future__ import annotations

from itertools import product

import pytest

from bench.generation.validity.options import option_readers
from tests.bench.validity.worlds import content, not_met, question

OFFERED = ("mm", "l", "kkk")  # first and neither; shortest; last and longest


def of(wanted: list[str]) -> dict[str, float | None]:
    return {s.name: s.value for s in option_readers(content([_asked(w) for w in wanted]))}


def _asked(wanted: str):
    return question("a", options=OFFERED, wanted=wanted, persona=wanted)


@pytest.mark.parametrize(
    ("wanted", "names"),
    [("mm", {"first option"}), ("l", {"shortest option"}), ("kkk", {"last option", "longest option"})],
)
def test_an_option_that_is_right_by_its_place_or_length_is_found(wanted, names):
    assert not_met(option_readers(content([_asked(wanted), _asked(wanted)]))) == names


def test_each_option_right_as_often_as_every_other_earns_a_third():
    found = of(["mm", "l", "kkk"])
    for name in ("first option", "last option", "longest option", "shortest option"):
        assert found[name] == pytest.approx(1 / 3)
    assert not_met(option_readers(content([_asked(w) for w in OFFERED]))) == set()


def items_of(rows: list[tuple[str, str]]):
    return [{"spice": spice, "place": place} for spice, place in rows]


def asked_of_items(rows: list[tuple[str, str]]):
    return question("a", options=[spice for spice, _ in rows], wanted="hot", field="spice", items=items_of(rows))


def test_near_misses_that_copy_the_right_item_give_it_away_three_ways():
    # likeness, fields shared with all: hot/bar 2+1+1 = 4, the others 2+1+0 = 3; neighbours at one: 2 against 1
    rows = [("mild", "bar"), ("hot", "bar"), ("hot", "yard")]
    found = option_readers(content([asked_of_items(rows)]))
    names = {"most typical item", "centroid of the items", "item with most neighbours at distance one"}
    assert not_met(found) >= names
    assert {s.value for s in found if s.name in names} == {1.0}
    assert {s.limit for s in found if s.name in names} == {1 / 2 + 0.03}


def test_crossed_items_are_all_alike():
    rows = list(product(("hot", "mild", "sweet"), ("bar", "yard", "hall")))
    found = {s.name: s for s in option_readers(content([asked_of_items(rows)]))}
    for name in ("most typical item", "centroid of the items", "item with most neighbours at distance one"):
        assert (found[name].value, found[name].verdict) == (pytest.approx(1 / 3), "met")


def test_a_dataset_without_items_is_not_measured_by_them():
    found = {s.name: s.verdict for s in option_readers(content([question("a")]))}
    assert found["most typical item"] == "not measured"
