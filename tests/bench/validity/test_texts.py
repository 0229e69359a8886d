"""Texts met twice, and cues in the words of their public description."""

from __future__ import annotations

import numpy as np
import pytest

from bench.generation.validity.texts import text_readers
from tests.bench.validity.worlds import DIMENSION, content, record

SIGNAL, DISTRACTOR = "signal texts that stand in dev", "distractors that stand in dev"
SHARED, DESCRIBED = "texts that two personas share, the largest share", "cue to public description by words"


NEAR = "cue to public description by embedding"


def found(records, descriptions=None, embed=None):
    return {s.name: s for s in text_readers(content(records=records, descriptions=descriptions), embed)}


@pytest.mark.parametrize(("role", "name"), [("cue", SIGNAL), ("state_start", SIGNAL), ("distractor", DISTRACTOR)])
def test_a_text_that_serves_both_splits_is_named(role, name):
    dev, own = record("met twice", split="dev", role=role), record("own", role=role)
    planted = found([dev, own, record("met twice", role=role)])[name]
    assert (planted.value, planted.n, planted.verdict) == (1 / 2, 2, "not met")
    assert planted.offenders == ("note: met twice",)
    assert (found([dev, own])[name].value, found([dev, own])[name].verdict) == (0.0, "met")


@pytest.mark.parametrize(("common", "verdict"), [(1, "met"), (2, "not met")])
def test_two_personas_may_share_one_text_in_ten(common, verdict):
    lives = [
        record(f"{'both' if n < common else person} {n}", persona=person) for person in ("p1", "p2") for n in range(10)
    ]
    shared = found(lives)[SHARED]
    assert (shared.value, shared.n, shared.verdict) == (common / 10, 1, verdict)
    assert shared.offenders == (() if verdict == "met" else ("p1 and p2: 0.20",))


def test_a_cue_in_the_words_of_its_description_is_named():
    options = {DIMENSION: {"a": "A cottage by the lake", "b": "A hut on the mountain", "c": "A loft in town"}}
    planted = found([record("Wet shoes after the lake again", "a")], options)[DESCRIBED]
    assert (planted.value, planted.limit, planted.verdict) == (1.0, pytest.approx(1 / 3 + 0.10), "not met")
    # no word in common: all three tie
    clean = found([record("Wet shoes again", "a")], options)[DESCRIBED]
    assert (clean.value, clean.verdict) == (pytest.approx(1 / 3), "met")


def by_first_letter(texts, query):
    """Unit rows: texts with the same first letter lie on one another."""
    return np.array([np.eye(26, dtype=np.float32)[ord(text[0].lower()) - ord("a")] for text in texts])


@pytest.mark.parametrize(("cues", "share", "verdict"), [("aab", 2 / 3, "not met"), ("abb", 1 / 3, "met")])
def test_cues_whose_vector_is_nearest_to_their_description_are_named(cues, share, verdict):
    options = {DIMENSION: {"a": "A cottage", "b": "By the lake", "c": "Couch in town"}}
    records = [record(f"{letter}{n}", "a") for n, letter in enumerate(cues)]
    planted = found(records, options, by_first_letter)[NEAR]
    assert (planted.value, planted.limit, planted.verdict) == (pytest.approx(share), 0.60, verdict)
    assert planted.offenders == tuple(f"{DIMENSION} = a: a{n}" for n, letter in enumerate(cues) if letter == "a")


def test_nearness_is_not_measured_where_nothing_embeds():
    clean = found([record("Wet shoes", "a")], {DIMENSION: {"a": "A cottage", "b": "By the lake"}})[NEAR]
    assert (clean.value, clean.n, clean.verdict) == (None, 1, "not measured")
