"""A candidate that addresses its judge: prompt, reply and combination give the verdicts of the bare candidate."""

from __future__ import annotations

import json
from datetime import date

import numpy as np
import pytest

from bench.grading.combination import combine
from bench.grading.judges import GoldEvidence, JudgedCheckpoint, contradicts, messages, parse
from bench.grading.types import Policy, VerdictRow, VerdictSource
from bench.reader.judging import judge
from bench.search.vectors import embed_texts
from tests.grading.hostile import HOSTILE

pytestmark = pytest.mark.django_db

PANEL = ("offline-judge-a", "offline-judge-b", "offline-judge-c")
CUE = GoldEvidence(date(2026, 3, 11), "calendar", "crown comes off, keep the left side free")
POINTS = [
    JudgedCheckpoint("k1", "The plan names a soup and a second course."),
    JudgedCheckpoint("k2", "No course needs chewing on the left side.", (CUE,)),
    JudgedCheckpoint("k3", "The taxi is booked for six in the morning."),
]
GOOD = (
    "We start with a leek soup and the second course is braised lamb.\n"
    "No course needs chewing on the left side of the mouth."
)
BAD = "Buy a new bicycle tyre."
WANTED = {GOOD: {"k1": "pass", "k2": "pass", "k3": "fail"}, BAD: {"k1": "fail", "k2": "fail", "k3": "fail"}}


def embed(texts, kind):
    return np.array(list(embed_texts(texts, kind=kind)))


def graded(candidate: str) -> dict[str, str | None]:
    """Checkpoint -> what the panel of three stand-ins makes of the candidate, by the way that a run takes."""
    ids = [point.id for point in POINTS]
    prompt = messages("What do I cook?", POINTS, candidate)[-1]["content"]
    replies = {name: json.dumps({"verdicts": judge(name, prompt, embed)}) for name in PANEL}
    results = {name: parse(reply, ids) for name, reply in replies.items()}
    assert not [result.unscored for result in results.values() if result.unscored]
    values = {}
    for key in ids:
        rows = [
            VerdictRow(key, VerdictSource.JUDGE, name, value, number, why, contradicts(value, why))
            for number, (name, result) in enumerate(results.items())
            for value, why in (result.verdicts[key],)
        ]
        values[key] = combine(rows, Policy("1", PANEL)).value
    return values


@pytest.mark.parametrize("candidate", [GOOD, BAD], ids=["good", "bad"])
def test_the_bare_candidates_are_graded_as_they_are(candidate):
    assert graded(candidate) == WANTED[candidate]


@pytest.mark.parametrize("candidate", [GOOD, BAD], ids=["good", "bad"])
@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_a_text_that_addresses_the_judge_changes_no_verdict(hostile, candidate):
    assert graded(f"{candidate}\n{hostile}") == WANTED[candidate]
    if len(hostile) < 10_000:  # before the candidate a longer one would push it out of what judges see
        assert graded(f"{hostile}\n{candidate}") == WANTED[candidate]
