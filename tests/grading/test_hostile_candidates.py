"""A candidate that addresses its judge: prompt, reply and combination give the verdicts of the bare candidate."""

from __future__ import annotations

from datetime import date

import pytest

from bench.grading.combination import combine
from bench.grading.judges import GoldEvidence, JudgedCheckpoint, contradicts, messages, parse, schema
from bench.grading.types import Policy, VerdictRow, VerdictSource
from bench.reader.answers import answer
from bench.reader.faults import PANEL, Dials
from tests.grading.hostile import HOSTILE

CUE = GoldEvidence(date(2026, 3, 11), "calendar", "vacuum robot serviced")
POINTS = [
    JudgedCheckpoint("k1", "The sheet says that a robot does the floors.", (CUE,)),
    JudgedCheckpoint("k2", "The sheet says that faults are reported to the landlord or letting agent."),
    JudgedCheckpoint("k3", "The sheet is addressed to Robin."),
]
GOOD = "Robin, the vacuum robot goes round the floors every day.\nRing the letting agent when anything breaks."
BAD = "Buy a new bicycle tyre."
WANTED = {GOOD: {"k1": "pass", "k2": "pass", "k3": "pass"}, BAD: {"k1": "fail", "k2": "fail", "k3": "fail"}}


def graded(candidate: str) -> dict[str, str | None]:
    """Checkpoint -> what a panel of judges without slips makes of the candidate, by the way that a run takes."""
    ids = [point.id for point in POINTS]
    body = {"messages": messages("Write the sheet.", POINTS, candidate)}
    body["response_format"] = {"json_schema": {"schema": schema(ids)}}
    results = {name: parse(answer(body | {"model": name}, Dials())["content"], ids) for name in PANEL}
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
