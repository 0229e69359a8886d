"""Answers of readers: taken in whole or not at all, and what is made of them."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command

from bench.audit.report import answers_of, disputed
from bench.models import AuditAnswer, AuditQuestion, Checkpoint, EventLabel


@pytest.fixture
def asked(tiny, tmp_path):
    """Ten cues, in a fixed order."""
    call_command(
        "audit_dataset", "--dataset", "tiny", "--mode", "cue", "--size", "10", "--out", str(tmp_path / "q.json")
    )
    return list(AuditQuestion.objects.order_by("public_id"))


def pick(question, *, right=True):
    gold = EventLabel.objects.get(event=question.event).value
    return next(public for public, value in question.options if (value == gold) is right)


def command(tmp_path, *more, answers=None):
    if answers is not None:
        (tmp_path / "a.json").write_text(json.dumps(answers))
        more = ("--answers", str(tmp_path / "a.json"), *more)
    call_command("audit_dataset", "--dataset", "tiny", *more, "--json", str(tmp_path / "r.json"))
    return json.loads((tmp_path / "r.json").read_text())


def test_eight_of_ten_right_are_a_share_of_point_eight_with_its_reader(asked, tmp_path):
    answers = [{"id": q.public_id, "option": pick(q, right=n >= 2)} for n, q in enumerate(asked)]
    found = command(tmp_path, "--reader", "Ada", "--kind", "human", answers=answers)
    assert (found["mode"], found["right"], found["n"], found["stored"]) == ("cue", 0.8, 10, 10)
    assert found["low"] < 0.8 < found["high"]
    assert found["readers"] == [{"name": "Ada", "kind": "human", "n": 10, "right": 0.8}]
    assert found["agreement"]["ac1"] is None
    assert found["disputed"] == []


def test_two_readers_who_agree_against_gold_or_call_it_undecidable_make_an_erratum_one_does_not(asked, tmp_path, tiny):
    first, second, third = asked[:3]
    for reader in ("Ada", "Bo"):
        answers = [
            {"id": first.public_id, "option": pick(first, right=False)},
            {"id": second.public_id, "option": "", "remark": "Not settled"},
            {"id": third.public_id, "option": pick(third, right=reader == "Ada")},
        ]
        command(tmp_path, "--reader", reader, "--kind", "model", answers=answers)
    found = command(tmp_path, "--report")
    assert {row["id"] for row in found["errata"]} == {first.event_id, second.event_id}
    assert found["modes"][0]["agreement"]["n"] == 3
    assert disputed(answers_of(tiny)) == found["errata"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "f" * 16}, "stands in no quiz"),
        ({"option": "f" * 16}, "has no option"),
        ({"option": ""}, "say why in remark"),
        ({"option": 3}, "it is a text"),
        ({"remark": "boring"}, "'boring' is unknown"),
        ({"gold": "x"}, "'gold'"),
    ],
)
def test_a_bad_answer_is_named_and_nothing_of_its_file_is_stored(asked, tmp_path, change, message):
    answers = [{"id": q.public_id, "option": pick(q)} for q in asked]
    answers[-1].update(change)
    with pytest.raises(CommandError, match=message):
        command(tmp_path, "--reader", "Ada", "--kind", "human", answers=answers)
    assert not AuditAnswer.objects.exists()


def test_the_same_reader_answers_once_and_stays_of_one_kind(asked, tmp_path):
    one, other = ([{"id": q.public_id, "option": pick(q)}] for q in asked[:2])
    command(tmp_path, "--reader", "Ada", "--kind", "human", answers=one)
    with pytest.raises(CommandError, match="before"):
        command(tmp_path, "--reader", "Ada", "--kind", "human", answers=other + one)
    with pytest.raises(CommandError, match="is human"):
        command(tmp_path, "--reader", "Ada", "--kind", "model", answers=other)
    with pytest.raises(CommandError, match="twice"):
        command(tmp_path, "--reader", "Bo", "--kind", "human", answers=one + one)
    assert AuditAnswer.objects.count() == 1


@pytest.mark.parametrize(("reader", "kind"), [("", "human"), ("Ada", "robot")])
def test_a_reader_has_a_name_and_a_known_kind(asked, tmp_path, reader, kind):
    answers = [{"id": asked[0].public_id, "option": pick(asked[0])}]
    with pytest.raises(CommandError, match=r"--reader|--kind"):
        command(tmp_path, "--reader", reader, "--kind", kind, answers=answers)


def test_the_command_retires_a_checkpoint_and_puts_it_back(tiny, tmp_path):
    wrong = Checkpoint.objects.filter(kind="preference").earliest("pk")
    found = command(tmp_path, "--retire", str(wrong.pk), "--why", "Two fit.", "--by", "Ada")
    assert found == {"dataset": "tiny v1.1", "checkpoint": wrong.pk, "retired": True}
    with pytest.raises(CommandError, match="retired already"):
        command(tmp_path, "--retire", str(wrong.pk), "--why", "Two fit.")
    assert command(tmp_path, "--put-back", str(wrong.pk))["dataset"] == "tiny v1.2"
    with pytest.raises(CommandError, match="none of tiny"):
        command(tmp_path, "--retire", "999999", "--why", "Two fit.")


def test_an_earlier_version_is_reported_where_it_is_named(tiny, tmp_path):
    assert command(tmp_path, "--report", "--dataset-version", "1")["dataset"]["version"] == 1
    with pytest.raises(CommandError, match="version 9 of dataset 'tiny'"):
        command(tmp_path, "--report", "--dataset-version", "9")
