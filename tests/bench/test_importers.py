from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest
from django.apps import apps
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.importers.histories import HistoryError, locomo_histories, read_jsonl, write_histories
from bench.importers.locomo import LocomoError, by_session, read_locomo
from bench.models import Dataset
from bench.names import check_slug, slugs_for

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


def test_a_session_as_one_text_has_a_line_a_turn_and_answers_what_its_turns_answer(tmp_path: Path):
    later = {
        "session_2_date_time": "2:00 pm on 9 May, 2023",
        "session_2": [{"speaker": "Ana", "dia_id": "D2:1", "text": "Rex."}],
    }
    asked = {"question": "Name?", "answer": "Rex", "evidence": ["D1:1", "D1:2", "D2:1"], "category": 1}
    sample = dialogue(qa=[ASKED, asked])
    sample["conversation"] |= later
    (read,) = read_locomo(write(tmp_path, [sample]))
    whole = by_session(read)
    first, second = whole.turns
    assert first.text.splitlines() == [turn.text for turn in read.turns[:2]]
    assert second.text == read.turns[2].text
    assert [q.evidence for q in whole.questions] == [{first.turn_id}, {first.turn_id, second.turn_id}]
    assert first.occurred_at == read.turns[0].occurred_at


def test_a_picture_counts_with_its_caption_and_times_are_read(tmp_path: Path):
    (read,) = read_locomo(write(tmp_path, [dialogue()]))
    assert "a dog on a sofa" in read.turns[1].text
    assert read.turns[0].occurred_at.isoformat() == "2023-05-08T13:56:00+00:00"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ({"a": 1}, "expected a list"),
        ([], "no dialogue"),
        ([{"qa": []}], "not a LoCoMo dialogue"),
        ([dialogue(qa=None)], "'qa' must be a list"),
        ([dialogue(conversation={})], "no usable turn"),
        ([None], "not a LoCoMo"),
        ("[" * 100_000, "nested too deeply"),
    ],
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


def reasons_of(tmp_path: Path, *samples) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in read_locomo(write(tmp_path, list(samples))):
        for skipped in one.skipped:
            found.setdefault(skipped.row, []).append(skipped.reason)
    return found


ASKED = {"question": "What did Ana get?", "answer": "a dog", "evidence": ["D1:1"], "category": 4}


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        ({"category": None}, "category is None; a number from 1 to 5"),
        ({"category": "4"}, "category is '4'"),
        ({"category": True}, "category is True"),
        ({"question": None}, "question is missing"),
        ({"question": "\ud800"}, "question is missing or no usable text"),
        ({"evidence": None}, "no usable evidence"),
        ({"evidence": 7}, "evidence is 7; a list of turn ids"),
        ({"evidence": "D1:1"}, "evidence 'D1:1' is one text instead of a list; it is read as one entry"),
        ({"evidence": [None]}, "evidence 'None' points to no turn"),
    ],
)
def test_an_odd_question_is_reported_by_row_and_stops_nothing(tmp_path: Path, odd, reason: str):
    read = reasons_of(tmp_path, dialogue(qa=[ASKED, {**ASKED, **odd}]))
    assert read["s1#1"][0].startswith(reason)


def test_evidence_given_as_one_text_is_used_whole_and_not_letter_by_letter(tmp_path: Path):
    (read,) = read_locomo(write(tmp_path, [dialogue(qa=[{**ASKED, "evidence": "D1:1, D1:2"}])]))
    assert read.questions[0].evidence == {"D1:1", "D1:2"}
    assert len(read.skipped) == 2  # that it is one text, and that it holds two turns


@pytest.mark.parametrize("entry", [None, "a question", 3, []])
def test_what_is_no_question_is_reported(tmp_path: Path, entry):
    assert "must be an object" in reasons_of(tmp_path, dialogue(qa=[ASKED, entry]))["s1#1"][0]


def test_a_dialogue_without_a_usable_question_says_so(tmp_path: Path):
    assert reasons_of(tmp_path, dialogue(qa=[]))["s1"] == ["the dialogue has no usable question"]


def test_an_answer_of_null_is_no_text_none(tmp_path: Path):
    (read,) = read_locomo(write(tmp_path, [dialogue(qa=[{**ASKED, "answer": None}])]))
    assert read.questions[0].answer == ""


def test_two_dialogues_of_one_id_stay_two_and_it_is_reported(tmp_path: Path):
    first, second = read_locomo(write(tmp_path, [dialogue(), dialogue(qa=[ASKED])]))
    assert (first.sample, second.sample) == ("s1", "s1-2")
    assert second.questions[0].row == "s1-2#0"
    assert second.skipped[0].reason == "another dialogue has the id 's1' too; this one is called 's1-2'"
    assert set(locomo_histories([first, second])) == {"s1", "s1-2"}


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        (None, "a turn must be an object"),
        ({"speaker": "Ana", "dia_id": None, "text": "x"}, "needs the texts 'speaker' and 'dia_id'"),
        ({"speaker": "Ana", "dia_id": "D1:3", "text": None}, "text is None"),
        ({"speaker": "Ana", "dia_id": "D1:3", "text": "a\0b"}, "text holds a zero character"),
    ],
)
def test_an_odd_turn_is_reported_and_left_out(tmp_path: Path, turn, reason: str):
    sample = dialogue(qa=[ASKED])
    sample["conversation"]["session_1"].append(turn)
    assert reason in reasons_of(tmp_path, sample)["s1/session_1[2]"][0]


def test_a_turn_whose_id_came_before_is_reported_and_left_out(tmp_path: Path):
    sample = dialogue(qa=[ASKED])
    sample["conversation"]["session_1"].append({"speaker": "Ana", "dia_id": "D1:1", "text": "Again!"})
    assert "came before" in reasons_of(tmp_path, sample)["s1/D1:1"][0]


@pytest.mark.parametrize("said", [None, 7, "", "soon", "1:00 am on 1 January, 9999"])
def test_a_session_without_a_usable_time_keeps_its_place_in_the_order(tmp_path: Path, said):
    sample = dialogue(qa=[ASKED])
    sample["conversation"]["session_1_date_time"] = said
    (read,) = read_locomo(write(tmp_path, [sample]))
    assert read.turns[0].occurred_at.isoformat() == "2023-01-02T00:00:00+00:00"


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
KEYS = ("question", "answer", "evidence", "category")


@given(st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, anything)) | anything, max_size=4), st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_question_or_turn_of_whatever_shape_stops_the_file(tmp_path: Path, questions, data):
    sample = dialogue(qa=[ASKED, *questions])
    sample["conversation"]["session_1"] += data.draw(st.lists(anything, max_size=3))
    sample["conversation"]["session_1_date_time"] = data.draw(anything)
    (read,) = read_locomo(write(tmp_path, json.dumps([sample])))
    rows = {question.row for question in read.questions} | {skipped.row for skipped in read.skipped}
    assert {f"s1#{number}" for number in range(len(questions) + 1)} <= rows


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
        ({**GOOD, "text": "a\0b"}, "h.jsonl:2: field 'text' holds a zero character"),
        ({**GOOD, "session": "a\0b"}, "h.jsonl:2: field 'session' holds a zero character"),
        ({**GOOD, "channel": "\ud83d"}, "h.jsonl:2: field 'channel' holds half of a surrogate pair; take it out"),
        ({**GOOD, "persona": "\udc00"}, "h.jsonl:2: field 'persona' holds half of a surrogate pair"),
        ({**GOOD, "persona": "x" * 121}, "field 'persona' has 121 characters; at most 120"),
        ({**GOOD, "session": 7}, "field 'session' is missing or not a text"),
        ({**GOOD, "occurred_at": "0001-01-01T00:00:00+14:00"}, "h.jsonl:2: .*years from 1900 to 2199"),
        ({**GOOD, "occurred_at": "9999-12-31T23:59:59-12:00"}, "h.jsonl:2: .*years from 1900 to 2199"),
        ('{"text": ' + "[" * 100_000, "h.jsonl:2: is nested too deeply"),
        ('{"text": ' + "9" * 5000 + "}", "h.jsonl:2: "),
    ],
)
@pytest.mark.django_db
def test_a_bad_line_is_named_and_nothing_is_written(tmp_path: Path, row, message: str):
    with pytest.raises(HistoryError, match=message):
        read_jsonl(lines(tmp_path, GOOD, row))
    assert not Dataset.objects.exists()


def test_a_byte_order_mark_and_unusual_line_breaks_within_a_text_are_accepted(tmp_path: Path):
    path = tmp_path / "h.jsonl"
    rows = [{**GOOD, "text": f"one{mark}two"} for mark in ("\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c")]
    path.write_text("\ufeff" + "\r\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    assert [event.text for event in read_jsonl(path)["ana"]] == [row["text"] for row in rows]


def test_a_line_that_is_not_utf8_is_named_with_the_remedy(tmp_path: Path):
    path = tmp_path / "h.jsonl"
    path.write_bytes(json.dumps(GOOD).encode() + b'\n{"text": "caf\xe9"}\n')
    with pytest.raises(HistoryError, match=r"h\.jsonl:2: byte 14 is not UTF-8; save the file as UTF-8"):
        read_jsonl(path)


ODD_NAMES = ["a/b", "ana@example.org", "Ana Lima", "..", "<script>x", "b" * 120, "李", "ana", "Ana  lima", "?", "#"]


def test_a_name_that_cannot_stand_in_an_address_gets_a_slug_of_its_own():
    slugs = slugs_for([*ODD_NAMES, "ana-lima"])
    assert len(set(slugs.values())) == len(slugs)
    assert (slugs["ana"], slugs["ana-lima"], slugs["a/b"]) == ("ana", "ana-lima", "ab")
    assert slugs["Ana Lima"].startswith("ana-lima-")  # the slug was taken
    for slug in slugs.values():
        assert check_slug(slug, "slug", 80)


@given(st.lists(st.text(max_size=100), max_size=12))
def test_slugs_are_different_and_fit_into_an_address(names):
    slugs = slugs_for(names)
    assert set(slugs) == set(names)
    assert len(set(slugs.values())) == len(slugs)
    assert all(reverse("persona", args=["mine", slug]) for slug in slugs.values())


@pytest.mark.django_db
def test_a_persona_with_an_odd_name_has_a_page_and_keeps_its_name(tmp_path: Path, admin_client):
    histories = read_jsonl(lines(tmp_path, *({**GOOD, "persona": name} for name in ODD_NAMES)))
    dataset = write_histories("mine", "jsonl", histories)
    assert sorted(dataset.personas.values_list("name", flat=True)) == sorted(ODD_NAMES)
    assert admin_client.get("/datasets/").status_code == 200
    assert admin_client.get("/datasets/mine/").status_code == 200
    for persona in dataset.personas.all():
        assert admin_client.get(f"/datasets/mine/personas/{persona.slug}/").status_code == 200


@pytest.mark.parametrize("name", ["a/b", "..", "a b", "", "x" * 61, "<b>", "n\u00e4me", "a\n"])
@pytest.mark.django_db
def test_a_dataset_whose_name_cannot_stand_in_an_address_is_refused_with_the_remedy(tmp_path: Path, name: str):
    with pytest.raises(ValueError, match="use 1 to 60 letters"):
        write_histories(name, "jsonl", read_jsonl(lines(tmp_path, GOOD)))
    assert not Dataset.objects.exists()


@pytest.mark.django_db
def test_a_history_is_imported_once_and_in_order_of_time(tmp_path: Path):
    later = {**GOOD, "occurred_at": "2026-05-01T00:00:00Z", "text": "fixed"}
    histories = read_jsonl(lines(tmp_path, later, GOOD))
    first, again = (write_histories("mine", "jsonl", histories) for _ in range(2))
    assert first.pk == again.pk
    events = first.personas.get().events.order_by("position")
    assert [event.text for event in events] == ["left side hurts", "fixed"]


@pytest.mark.django_db
def test_names_from_before_that_have_no_address_get_one(tmp_path: Path, admin_client):
    dataset = write_histories("mine", "jsonl", read_jsonl(lines(tmp_path, {**GOOD, "persona": "<script>x"})))
    Dataset.objects.filter(pk=dataset.pk).update(name="a/b <i>")
    dataset.personas.update(slug="<script>x")
    import_module("bench.migrations.0012_names_that_have_an_address").give_slugs(apps, None)
    dataset.refresh_from_db()
    persona = dataset.personas.get()
    assert (dataset.name[:5], persona.name) == ("ab-i-", "<script>x")
    assert admin_client.get("/datasets/").status_code == 200
    assert admin_client.get(f"/datasets/{dataset.name}/personas/{persona.slug}/").status_code == 200
