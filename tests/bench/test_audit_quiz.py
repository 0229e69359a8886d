"""The blind quiz: what readers are shown, and what they must not be."""

from __future__ import annotations

import json
import re
from random import Random

import pytest
from django.core.management import CommandError, call_command

from bench.audit.quiz import stratified
from bench.models import AuditQuestion, Checkpoint, Dimension, Event, Run, Task, Trajectory, Unit


def quiz(out, mode, *more):
    call_command("audit_dataset", "--dataset", "tiny", "--mode", mode, "--out", str(out), *more)
    return json.loads(out.read_text())


def test_the_quiz_of_a_seed_is_the_same_each_time_and_names_no_gold(tiny, tmp_path):
    first = quiz(tmp_path / "a.json", "cue,gold,none", "--size", "5", "--seed", "3")
    assert first == quiz(tmp_path / "b.json", "cue,gold,none", "--size", "5", "--seed", "3")
    assert first["items"]
    allowed = {"id", "request", "moment", "events", "questions", "when", "channel", "text", "options"}
    keys = set()

    def walk(node):
        if isinstance(node, dict):
            keys.update(node)
            assert re.fullmatch(r"[0-9a-f]{16}", node.get("id", "0" * 16))
            node = list(node.values())
        for child in node if isinstance(node, list) else ():
            walk(child)

    walk(first["items"])
    assert keys == allowed
    page = (tmp_path / "a.html").read_text()
    for dimension in set(Checkpoint.objects.exclude(dimension="").values_list("dimension", flat=True)):
        assert dimension not in page
        assert dimension not in (tmp_path / "a.json").read_text()


def test_gold_shows_the_evidence_of_the_task_none_nothing_and_full_all_before_the_moment(tiny, tmp_path):
    task = Task.objects.of_dataset(tiny.pk).earliest("pk")
    Task.objects.exclude(pk=task.pk).delete()
    gold = Event.objects.filter(pk__in=task.checkpoints.values("evidence"))
    expected = {"gold": gold, "none": gold.none(), "full": Event.objects.visible(task.persona_id, task.as_of)}
    for mode, events in expected.items():
        (item,) = quiz(tmp_path / f"{mode}.json", mode)["items"]
        assert [e["text"] for e in item["events"]] == [e.text for e in events.order_by("occurred_at")]
        assert item["request"] == task.request


def test_hostile_texts_stay_texts_on_the_page(tiny, tmp_path):
    Event.objects.update(text="</li><script>alert(1)</script>")
    Task.objects.update(request='"><img src=x onerror=alert(1)>')
    quiz(tmp_path / "q.json", "gold", "--size", "2")
    page = (tmp_path / "q.html").read_text()
    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in page
    assert "<img" not in page


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--mode", "silver", "--out", "q.json"], "'silver'"),
        (["--mode", "retrieved:rag", "--out", "q.json"], "--run"),
        (["--mode", "retrieved:rag", "--run", "99", "--out", "q.json"], "run 99 has no trajectory"),
        (["--mode", "cue,cue", "--out", "q.json"], "twice"),
        (["--mode", "cue", "--size", "0", "--out", "q.json"], "--size 0"),
        (["--mode", "cue", "--out", "q.txt"], "must end in .json"),
    ],
)
def test_a_bad_option_is_named_and_nothing_is_written(tiny, tmp_path, monkeypatch, more, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandError, match=message):
        call_command("audit_dataset", "--dataset", "tiny", *more)
    assert not list(tmp_path.iterdir())


def test_a_rare_stratum_is_drawn_before_a_frequent_one_is_drawn_twice():
    chosen = stratified(["a1", "a2", "a3", "a4", "b1"], lambda row: (row[0],), 2, Random(1))
    assert {row[0] for row in chosen} == {"a", "b"}


def test_retrieved_shows_what_the_method_found_and_the_duplicates_folded_in_but_nothing_later(tiny, tmp_path):
    task = Task.objects.of_dataset(tiny.pk).earliest("pk")
    first, second = Event.objects.visible(task.persona_id, task.as_of).order_by("occurred_at")[:2]
    late = Event.objects.filter(persona=task.persona).latest("occurred_at")
    Task.objects.filter(pk=task.pk).update(as_of=late.occurred_at)
    run = Run.objects.create(
        dataset=tiny, status="done", manifest={}, manifest_sha256="0" * 64, model="m", simulated=True
    )
    unit = Unit.objects.create(run=run, task=task, method="rag", repeat=0)
    found = [{"event_id": str(second.pk), "support": [str(first.pk)]}, {"event_id": str(late.pk), "support": []}]
    Trajectory.objects.create(unit=unit, termination="answered", data={"evidence": found})
    (item,) = quiz(tmp_path / "q.json", "retrieved:rag", "--run", str(run.pk))["items"]
    assert [event["text"] for event in item["events"]] == [first.text, second.text]
    with pytest.raises(CommandError, match="'iba'"):
        quiz(tmp_path / "q.json", "retrieved:iba", "--run", str(run.pk))


def test_options_are_public_descriptions_without_labels_and_their_places_say_nothing_of_gold(tiny, tmp_path):
    items = quiz(tmp_path / "q.json", "cue", "--size", "60")["items"]
    options = {d["description"]: d["label"] for row in Dimension.objects.all() for d in row.options}
    for item in items:
        for question in item["questions"]:
            assert all(option["text"] in options for option in question["options"])
            assert [o["id"] for o in question["options"]] == sorted(o["id"] for o in question["options"])
    places = set()
    for row in AuditQuestion.objects.select_related("event__label"):
        places.add([value for _, value in row.options].index(row.event.label.value))
    assert places >= {0, 1, 2}  # with one pick in three at each place, 60 cues miss one with 3 * (2/3)^60


def test_quizzes_that_stand_apart_share_no_task(tiny, tmp_path):
    first = quiz(tmp_path / "a.json", "gold", "--size", "4")
    second = quiz(tmp_path / "b.json", "none", "--size", "99", "--apart-from", str(tmp_path / "a.json"))
    tasks = [
        set(Task.objects.filter(checkpoints__audit_questions__mode=mode).values_list("pk", flat=True))
        for mode in ("gold", "none")
    ]
    assert len(tasks[0]) == len(first["items"])
    assert len(tasks[1]) == len(second["items"])
    assert not tasks[0] & tasks[1]
