"""A version carries what its checks found; one that fails them takes no run that does not ask for it."""

from __future__ import annotations

import io
import json
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError

from bench.exports import export_results
from bench.generation.gates import check_dataset
from bench.generation.validity import marking
from bench.generation.validity.gate import Gate
from bench.generation.validity.marking import check_once, mark
from bench.generation.validity.shortcut import Shortcut
from bench.importers.histories import read_jsonl, write_histories
from bench.models import Checkpoint, CheckpointKind, Dataset, Dimension, Event, EventLabel, Run
from bench.publishing.package import export_dataset
from bench.runs.launch import LaunchError, plan_run, start
from bench.runs.spec import RunSpec
from bench.texts import text_sha256

pytestmark = pytest.mark.django_db

TELLS = Gate("requests that tell", 2.0, "0", 50, passed=False, offenders=("a", "b"))
POOR = Gate("kinds of conflict", 3.0, "at least 4", 50, passed=False, blocks=False)
HOLDS = Gate("late evidence", 0.0, "0", 50, passed=True)
FAR = Shortcut("signal or noise by words", 0.759, 0.6, 2864)
NEAR = Shortcut("signal or noise by hour", 0.48, 0.6, 2864)
UNREAD = Shortcut("cue or distractor by hour", None, 0.6, 0)


def wish(**changes: object) -> RunSpec:
    return RunSpec(**{"dataset": "tiny", "methods": ["no_history"], "model": "offline", "limit": 1, **changes})


def names(rows):
    return [row["name"] for row in rows]


def test_a_gate_that_blocks_makes_a_version_invalid_and_what_else_fails_is_a_warning(tiny):
    mark(tiny, [TELLS, POOR, HOLDS], [FAR, NEAR, UNREAD])
    stored = Dataset.objects.get(pk=tiny.pk)
    assert stored.valid is False
    assert stored.checked_at is not None
    assert names(stored.failed_gates) == ["requests that tell"]
    assert names(stored.limits_not_met) == ["kinds of conflict", "signal or noise by words"]
    assert stored.failed_gates[0] | {"value": 2.0, "limit": "0", "n": 50} == stored.failed_gates[0]
    assert (stored.limits_not_met[1]["value"], stored.limits_not_met[1]["limit"]) == (0.759, "at most 0.6")


def test_warnings_alone_leave_a_version_valid(tiny):
    mark(tiny, [POOR, HOLDS], [FAR])
    assert tiny.valid is True
    plan_run(wish())


def test_no_run_starts_on_an_invalid_version_unless_it_is_asked_for_and_then_the_run_says_so(tiny):
    mark(tiny, [TELLS], [])
    with pytest.raises(LaunchError, match=r"requests that tell: 2 \(allowed: 0\).*--even-if-invalid") as refused:
        plan_run(wish())
    assert refused.value.field == "dataset"
    asked = start(plan_run(wish(even_if_invalid=True)))
    assert asked.even_if_invalid
    assert "even_if_invalid" not in asked.manifest  # it decides whether, not what


def test_a_run_that_would_take_an_invalid_version_records_nothing_on_a_valid_one(tiny):
    mark(tiny, [HOLDS], [])
    assert not start(plan_run(wish(even_if_invalid=True))).even_if_invalid


def test_a_version_that_nobody_checked_takes_runs(tiny):
    assert tiny.valid is None
    nothing = {"checked_at": None, "failed_gates": [], "limits_not_met": [], "revision": 0, "retired_checkpoints": 0}
    assert tiny.validity == {"valid": None, **nothing}
    plan_run(wish())


def test_an_imported_history_is_not_checked(db, tmp_path):
    path = tmp_path / "h.jsonl"
    path.write_text('{"persona": "p", "occurred_at": "2026-01-01T09:00:00Z", "channel": "note", "text": "hello"}\n')
    assert write_histories("mine", "jsonl", read_jsonl(path)).valid is None


def test_the_database_refuses_a_verdict_without_its_time(tiny):
    with pytest.raises(IntegrityError, match="dataset_valid_once_checked"):
        Dataset.objects.filter(pk=tiny.pk).update(valid=False)


def test_a_version_is_checked_once_by_the_same_code(tiny, monkeypatch):
    check_once(tiny)
    first = tiny.checked_at
    assert (tiny.valid, len(tiny.checks)) == (True, 18 + 27)
    check_once(tiny)
    assert tiny.checked_at == first
    monkeypatch.setattr(marking, "checks_sha256", lambda: "another code")
    check_once(tiny)
    assert tiny.checked_at > first


def test_exports_say_what_failed_and_never_what_breaks_it(tiny, tmp_path):
    mark(tiny, [TELLS], [FAR])
    export_dataset(tiny, tmp_path, gold=False)
    told = json.loads((tmp_path / "manifest.json").read_text())["validity"]
    assert (told["valid"], names(told["failed_gates"])) == (False, ["requests that tell"])
    run = start(plan_run(wish(even_if_invalid=True)))
    export_results(run, tmp_path)
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["even_if_invalid"] is True
    assert results["dataset_validity"] == told
    assert "offenders" not in json.dumps(told)


def test_build_and_check_mark_the_version_and_run_benchmark_refuses_a_broken_one(tiny):
    call_command("build_dataset", "--name", "tiny", "--size", "tiny", "--seed", "7", stdout=io.StringIO())
    tiny.refresh_from_db()
    assert tiny.valid is True
    checkpoint = Checkpoint.objects.filter(task__persona__dataset=tiny, kind=CheckpointKind.PREFERENCE).first()
    assert checkpoint is not None
    late = checkpoint.evidence.first()
    late.occurred_at = checkpoint.task.as_of + timedelta(days=1)
    late.save()
    with pytest.raises(CommandError, match="gold evidence after the as-of time"):
        call_command("check_dataset", "--dataset", "tiny", stdout=io.StringIO())
    tiny.refresh_from_db()
    assert tiny.valid is False
    with pytest.raises(CommandError, match="--even-if-invalid"):
        call_command("run_benchmark", "--dataset", "tiny", "--methods", "no_history", "--model", "offline")
    assert not Run.objects.exists()


def failing(dataset: Dataset) -> dict[str, Gate]:
    return {gate.name: gate for gate in check_dataset(dataset) if not gate.passed}


def test_a_preference_that_other_events_show_too_is_named(tiny):
    """A cue that is left out of the gold events: without them the history still settles it."""
    checkpoint = next(
        c
        for c in Checkpoint.objects.filter(task__persona__dataset=tiny, conflict="", tier="direct")
        if c.kind == CheckpointKind.PREFERENCE and c.evidence.count() > 1
    )
    checkpoint.evidence.remove(checkpoint.evidence.first())
    found = failing(tiny)["preferences that the history settles without their gold events"]
    assert f"{checkpoint.task.slug}: {checkpoint.text}" in found.offenders


def test_a_preference_that_its_gold_events_do_not_settle_is_named(tiny):
    checkpoint = Checkpoint.objects.filter(task__persona__dataset=tiny, conflict="", tier="direct").first()
    assert checkpoint is not None
    everyday = Event.objects.filter(persona=checkpoint.task.persona, label__role="everyday").first()
    checkpoint.evidence.set([everyday])
    found = failing(tiny)["preferences that their gold events alone do not settle"]
    assert f"{checkpoint.task.slug}: {checkpoint.text}" in found.offenders


@pytest.mark.parametrize("words", ["label", "description"])
def test_a_request_that_holds_the_whole_label_or_description_is_named(tiny, words):
    checkpoint = Checkpoint.objects.filter(task__persona__dataset=tiny, kind=CheckpointKind.PREFERENCE).first()
    assert checkpoint is not None
    dimension = next(d for d in Dimension.objects.all() if d.reference == checkpoint.dimension)
    phrase = next(option[words] for option in dimension.options if option["slug"] == checkpoint.value)
    task = checkpoint.task
    task.request = f"{task.request} {phrase}"
    task.save()
    assert f"{task.slug}: {checkpoint.text}" in failing(tiny)["requests that name a value they should not"].offenders


def test_a_cue_that_names_its_value_and_a_text_that_stands_twice_are_quoted(tiny):
    cue = EventLabel.objects.filter(event__persona__dataset=tiny, role="cue").select_related("event").first()
    assert cue is not None
    dimension = next(d for d in Dimension.objects.all() if d.reference == cue.dimension)
    cue.event.text = next(option["label"] for option in dimension.options if option["slug"] == cue.value)
    cue.event.text_sha256 = text_sha256(cue.event.text)
    cue.event.save()
    other = Event.objects.filter(persona=cue.event.persona).exclude(pk=cue.event.pk).first()
    assert other is not None
    other.text, other.text_sha256 = cue.event.text, cue.event.text_sha256
    other.save()
    found = failing(tiny)
    assert cue.event.text in found["cues that name their value"].offenders
    assert found["texts that stand twice in one history"].offenders == (f"{cue.event.persona.slug}: {cue.event.text}",)
