"""How the stand-in finds free-text values in a request."""

from __future__ import annotations

import pytest

from bench.reader.wording import find


@pytest.mark.parametrize(
    ("name", "description", "request_text", "value"),
    [
        ("reference", "Printed on the box", "Two lamps, reference: attic.", "attic"),
        ("reference", "Printed on the box", "Two lamps, 40 euros at most, reference attic and soon", "attic"),
        ("reference", "Printed on the box", "Put back room as the reference, thanks", "back room"),
        ("reference", "Printed on the box", 'reference is "A, B and C"', "A, B and C"),
        ("note", "Note for the driver", "Note: ring twice! And hurry.", "ring twice"),
        ("topic", "What the call is about", "I need to ring Oma about the broken fence, any day.", "the broken fence"),
        ("topic", "What the call is about", "Mr Ode wants a word re the hedge. Two of us.", "the hedge"),
        ("finish", "Finish: matt or glossy", "Print them glossy please", "glossy"),
        ("finish", "Finish: matt or semi-matt", "semi-matt if you can", "semi-matt"),
    ],
)
def test_a_value_is_found_beside_the_words_for_it(name, description, request_text, value):
    assert find(name, description, request_text) == value


@pytest.mark.parametrize(
    ("name", "description", "request_text"),
    [
        ("reference", "Printed on the box", ""),
        ("reference", "Printed on the box", "Two lamps please"),
        ("reference", "Printed on the box", 'reference is "'),
        ("topic", "Title of the piece", "Something about the sea"),
        ("finish", "Finish: matt or glossy", "matter of taste"),
    ],
)
def test_nothing_is_made_up(name, description, request_text):
    assert find(name, description, request_text) is None


def test_a_very_long_request_is_read_from_its_begin_only():
    assert find("note", "Note", "Note: short. " + "x" * 50_000) == "short"
    assert find("note", "Note", "y" * 50_000 + " Note: late.") is None
