"""Noise that names all values but one tells that one. Chance 1/3, limit 0.3633."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.generation.validity.content import Content
from bench.generation.validity.silence import least_named
from tests.bench.validity.worlds import DIMENSION, VALUES, content, question, record

LIMIT = pytest.approx(1 / 3 + 0.03)
WORDS = {(DIMENSION, value): value for value in VALUES}


def world(named: dict[str, str], *, role: str, text: str = "like {}", day: int = 3) -> Content:
    """One person a value; noise in the life of each names the values that are given for it, each in a text."""
    life = [
        record(text.format(one), one if role == "distractor" else "", persona=f"test {held}", role=role, day=day)
        for held, others in named.items()
        for one in others
    ]
    return replace(content([question(value) for value in VALUES], life), worded=WORDS)


def test_distractors_that_never_look_like_what_holds_are_found():
    planted = least_named(world({"a": "bc", "b": "ac", "c": "ab"}, role="distractor"))
    assert (planted.value, planted.limit, planted.verdict) == (1.0, LIMIT, "not met")
    assert planted.offenders == ("test a: is a", "test b: is b", "test c: is c")


def test_distractors_of_all_values_alike_tell_nothing():
    clean = least_named(world(dict.fromkeys(VALUES, "abc"), role="distractor"))
    assert (clean.value, clean.verdict) == (pytest.approx(1 / 3), "met")
    # one of three each time, as a draw would have it: 0, 1/2, 1/2
    drawn = least_named(world({"a": "a", "b": "a", "c": "a"}, role="distractor"))
    assert (drawn.value, drawn.verdict) == (pytest.approx(1 / 3), "met")


def test_records_of_choices_that_name_only_what_is_not_held_are_found():
    """Each holder's record names the two others: one ends before the mark, one begins after it. "bold" is no "b"."""
    life = [
        record("Took small; b. Not c; large.", persona="test a", role="everyday"),
        record("Took a; bold. Not club; c", persona="test b", role="everyday"),
        record("Took small; a. Not b; large.", persona="test c", role="everyday"),
    ]
    found = least_named(replace(content([question(value) for value in VALUES], life), worded=WORDS))
    assert (found.value, found.verdict) == (1.0, "not met")


def test_what_comes_after_the_request_and_what_shows_something_is_not_counted():
    late = least_named(world({"a": "bc"}, role="distractor", day=20))
    telling = least_named(world({"a": "bc"}, role="cue"))
    assert late.value == telling.value == pytest.approx(1 / 3)
