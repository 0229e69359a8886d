"""Readers that tell signal from noise by how texts look: each finds its own planted fault and no other."""

from __future__ import annotations

import pytest

from bench.generation.validity.telling import telling_readers
from tests.bench.validity.worlds import content, not_met, record

KINDS = ("signal or noise", "cue or distractor")
PLAIN = {"text": "tell one", "channel": "note", "hour": 9}


def world(signal, noise):
    """Two cues and two distractors a split."""
    return content(
        records=[
            record(role=role, split=split, value="a", **look)
            for split in ("dev", "test")
            for role, look in (("cue", signal), ("cue", signal), ("distractor", noise), ("distractor", noise))
        ]
    )


@pytest.mark.parametrize(
    ("way", "noise"),
    [
        ("words", {"text": "said one"}),
        ("length and punctuation", {"text": "tell, one!"}),
        ("channel", {"channel": "bank"}),
        ("hour", {"hour": 22}),
    ],
)
def test_a_planted_difference_is_found_by_its_own_reader_only(way, noise):
    # 2 signals and 2 noises: all 4 pairs are ranked right, AUC 4/4
    found = telling_readers(world(PLAIN, PLAIN | noise))
    assert not_met(found) == {f"{kind} by {way}" for kind in KINDS}
    assert {s.value for s in found if s.verdict == "not met"} == {1.0}


def test_the_same_texts_on_both_sides_are_told_by_nobody():
    found = telling_readers(world(PLAIN, PLAIN))
    assert {(s.value, s.limit, s.verdict) for s in found} == {(0.5, 0.6, "met")}


def test_the_texts_that_tell_most_come_first():
    learned = [record("loud loud", "a", "dev"), record("loud", "a", "dev"), record("one", split="dev", role="everyday")]
    test = [record("loud", "a"), record("loud loud", "a"), record("one", role="everyday")]
    assert telling_readers(content(records=learned + test))[0].offenders == ("note: loud loud", "note: loud")


def test_a_dataset_without_noise_on_dev_is_not_measured():
    found = telling_readers(content(records=[record("one", "a", "dev"), record("one", role="distractor")]))
    assert {s.verdict for s in found} == {"not measured"}
