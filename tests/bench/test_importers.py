from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.importers.histories import HistoryError, read_jsonl, write_histories
from bench.importers.locomo import LocomoError, read_locomo
from bench.models import Dataset

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "locomo10.json"


def dialogue(**changes) -> dict:
    turns = [
        {"speaker": "Ana", "dia_id": "D1:1", "text": "Got a dog!"},
        {"speaker": "Ben", "dia_id": "D1:2", "text": "What breed?", "blip_caption": "a dog on a sofa"},
    ]
    sample = {
        "sample_id": "s1",
        "conversation": {"speaker_a": "Ana", "session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": turns},
        "qa": [
            {"question": "What did Ana get?", "answer": "a dog", "evidence": ["D1:1"], "category": 4},
            {"question": "Who asked?", "answer": "Ben", "evidence": ["D1:1; D1:2"], "category": 1},
            {"question": "Nothing?", "answer": "x", "evidence": ["D"], "category": 1},
            {"question": "Far off?", "answer": "x", "evidence": ["D30:05"], "category": 2},
            {"question": "None?", "answer": "x", "evidence": [], "category": 2},
            {"question": "Cat?", "adversarial_answer": "a cat", "evidence": ["D1:1"], "category": 5},
        ],
    }
    return {**sample, **changes}


def write(tmp_path: Path, content) -> Path:
    path = tmp_path / "locomo.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_good_questions_are_kept_and_every_fault_has_its_row(tmp_path: Path):
    (read,) = read_locomo(write(tmp_path, [dialogue()]))
    assert [(q.row, sorted(q.evidence)) for q in read.questions] == [("s1#0", ["D1:1"]), ("s1#1", ["D1:1", "D1:2"])]
    reasons = {(skipped.row, skipped.reason.split(":")[0][:30]) for skipped in read.skipped}
    assert {row for row, _ in reasons} == {"s1#1", "s1#2", "s1#3", "s1#4", "s1#5"}


def test_a_picture_counts_with_its_caption_and_times_are_read(tmp_path: Path):
    (read,) = read_locomo(write(tmp_path, [dialogue()]))
    assert "a dog on a sofa" in read.turns[1].text
    assert read.turns[0].occurred_at.isoformat() == "2023-05-08T13:56:00+00:00"


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "is not JSON"), ({"a": 1}, "expected a list"), ([{"qa": []}], "not a LoCoMo dialogue")],
)
def test_a_file_of_another_shape_is_refused_with_its_place(tmp_path: Path, content, message: str):
    with pytest.raises(LocomoError, match=message):
        read_locomo(write(tmp_path, content))


@pytest.mark.skipif(not REAL.exists(), reason="shared/data/locomo10.json is not here; it may not be copied")
def test_the_real_file_has_the_faults_that_are_known_of_it():
    dialogues = read_locomo(REAL)
    assert len(dialogues) == 10
    assert sum(len(d.turns) for d in dialogues) == 5882
    skipped = [s for d in dialogues for s in d.skipped]
    assert sum("adversarial" in s.reason for s in skipped) == 446
    assert sum(s.reason.startswith("evidence") for s in skipped) == 9
    assert (
        sum(len(d.questions) for d in dialogues)
        + sum("adversarial" in s.reason or "no usable" in s.reason for s in skipped)
        == 1986
    )


def lines(tmp_path: Path, *rows) -> Path:
    path = tmp_path / "h.jsonl"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return path


GOOD = {"persona": "ana", "occurred_at": "2026-03-14T09:30:00+01:00", "channel": "note", "text": "left side hurts"}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("nonsense", "h.jsonl:2"),
        ({**GOOD, "occurred_at": "yesterday"}, "'yesterday'; use ISO 8601"),
        ({**GOOD, "occurred_at": "2026-03-14T09:30:00"}, "without a time zone"),
        ({**GOOD, "text": ""}, "field 'text' is missing"),
        ([1, 2], "must be a JSON object"),
    ],
)
@pytest.mark.django_db
def test_a_bad_line_is_named_and_nothing_is_written(tmp_path: Path, row, message: str):
    with pytest.raises(HistoryError, match=message):
        read_jsonl(lines(tmp_path, GOOD, row))
    assert not Dataset.objects.exists()


@pytest.mark.django_db
def test_a_history_is_imported_once_and_in_order_of_time(tmp_path: Path):
    later = {**GOOD, "occurred_at": "2026-05-01T00:00:00Z", "text": "fixed"}
    histories = read_jsonl(lines(tmp_path, later, GOOD))
    first, again = (write_histories("mine", "jsonl", histories) for _ in range(2))
    assert first.pk == again.pk
    events = first.personas.get().events.order_by("position")
    assert [event.text for event in events] == ["left side hurts", "fixed"]
