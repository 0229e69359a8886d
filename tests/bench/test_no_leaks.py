"""Gold stays on our side: in no task, no prompt, no tool result, and no table that is read while an agent works."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.db import connection

from agents.contract import Engine, StepKind
from bench.models import Checkpoint, Event, EventLabel, ModelCall, Persona, Task, Unit
from bench.runs import execute
from bench.runs.inputs import search_for, task_input
from bench.runs.launch import launch_run
from bench.runs.spec import RunSpec
from bench.runs.world import world_of
from tests.bench.live import ROOT

GOLD_TABLES = ("bench_eventlabel", "bench_checkpoint", "bench_checkpoint_evidence", "bench_persona")
METHODS = ("iba", "iba_fc", "rag", "recency", "full_history", "no_history", "profile", "react", "reminder")


def sentences_of_gold(task):
    """Texts that only the gold side has: checkpoints, why events mean what, and what is still to come."""
    texts = set(Checkpoint.objects.filter(task=task).values_list("text", flat=True))
    texts |= set(
        EventLabel.objects.filter(event__persona=task.persona_id).exclude(why="").values_list("why", flat=True)
    )
    seen = set(Event.objects.visible(task.persona_id, task.as_of).values_list("text", flat=True))
    texts |= set(Event.objects.filter(persona=task.persona_id).values_list("text", flat=True)) - seen
    # What anybody may read, such as a description of an option, is no secret.
    public = json.dumps(asdict(task_input(task)), default=str, ensure_ascii=False)
    return {text for text in texts if len(text) > 20 and text not in public}


def leaks(material, gold):
    """Gold sentences that stand in the material, a JSON value."""
    text = json.dumps(material, default=str, ensure_ascii=False)
    return sorted(sentence for sentence in gold if json.dumps(sentence, ensure_ascii=False)[1:-1] in text)


def without_own_words(request):
    """The messages less what the model itself had said: its turns, and a draft that is shown to it again."""
    texts = [str(message.get("content") or "") for message in request["messages"] if message["role"] != "assistant"]
    return [re.sub(r"\n## Draft\n(> .*\n?)*", "\n", text) for text in texts]


def test_the_search_for_leaks_finds_a_planted_one(tiny):
    task = Task.objects.first()
    gold = sentences_of_gold(task)
    assert len(gold) > 5
    planted = sorted(gold)[3]
    assert leaks({"messages": [{"role": "user", "content": f"By the way: {planted}"}]}, gold) == [planted]


def test_a_task_as_agents_get_it_holds_nothing_of_its_gold(tiny):
    for task in Task.objects.select_related("scenario__domain", "persona"):
        given = asdict(task_input(task))
        assert set(given) == {"task_id", "domain", "scenario", "request", "as_of", "action_kind", "tools"}
        text = json.dumps(given, default=str)
        gold = [c.text for c in task.checkpoints.all()] + ([task.context] if task.context else [])
        assert not [secret for secret in gold if secret in text]
        for tool in given["tools"]:
            assert set(tool) == {"name", "description", "parameters", "commits"}


def test_tools_answer_with_items_and_keep_their_filters_and_rules_to_themselves(tiny):
    for task in Task.objects.exclude(tools=[]):
        tools, gold = world_of(task), sentences_of_gold(task)
        for spec in tools.specs:
            result = tools(spec.name, {})
            assert set(result.content) <= {"items", "total", "error", "confirmation", "number"}
            assert leaks(result.content, gold) == []


@pytest.mark.parametrize("engine", list(Engine))
def test_no_engine_and_no_window_shows_an_event_of_the_future(tiny, engine):
    task = Task.objects.order_by("as_of").first()
    future = set(
        Event.objects.filter(persona=task.persona_id, occurred_at__gte=task.as_of).values_list("pk", flat=True)
    )
    assert future
    search = search_for(_spec("iba"), task)
    coming = Event.objects.filter(pk__in=future).first().text
    for query in (task.request, coming, ""):
        hits = search(query, k=500, engine=engine, until=datetime(2040, 1, 1, tzinfo=UTC))
        assert hits
        assert not {int(hit.event_id) for hit in hits} & future
        assert not {int(near) for hit in hits for near in hit.support} & future


def _spec(method):
    from agents.registry import resolve

    return resolve(method)


def test_no_gold_table_is_read_and_no_gold_is_sent_while_any_agent_works(tiny, offline):
    """One GENERATE and one CallAPI task for every method, with statements and prompts watched."""
    run = launch_run(RunSpec(dataset="tiny", methods=list(METHODS), model="offline"))
    chosen = [
        Task.objects.filter(scenario__action_kind=kind).order_by("pk").first().pk for kind in ("generate", "call_api")
    ]
    statements = []

    def watch(execute_, sql, params, many, context):
        statements.append(sql)
        return execute_(sql, params, many, context)

    units = Unit.objects.filter(run=run, task__in=chosen).select_related("run", "task__scenario__domain")
    for unit in units.order_by("pk"):
        statements.clear()
        with connection.execute_wrapper(watch):
            course, committed = execute._run(unit)
        assert course.termination.value in {"completed", "no_action"}, course.error
        assert any(step.kind is StepKind.MODEL for step in course.steps), unit.method
        read = {table for table in GOLD_TABLES if any(f'"{table}"' in sql for sql in statements)}
        assert read == set(), unit.method
        gold = sentences_of_gold(unit.task)
        for request in ModelCall.objects.filter(unit=unit).values_list("request", flat=True):
            assert leaks(without_own_words(request), gold) == [], unit.method
        assert leaks([asdict(step) for step in course.steps if step.kind is not StepKind.MODEL], gold) == [], (
            unit.method
        )
        assert leaks(committed, gold) == []


def test_the_oracle_alone_reads_gold_and_its_mark_says_so(tiny):
    from agents.registry import AGENTS

    assert [spec.name for spec in AGENTS.values() if spec.uses_gold] == ["oracle"]
    task = Task.objects.filter(checkpoints__evidence__isnull=False).first()
    found = search_for(_spec("oracle"), task)("anything", k=100)
    gold = set(Event.objects.filter(pk__in=task.checkpoints.values("evidence")).values_list("pk", flat=True))
    assert {int(hit.event_id) for hit in found} == gold
    assert all(hit.occurred_at < task.as_of for hit in found)


def test_what_a_persona_truly_prefers_stands_in_no_column_that_agents_get(tiny):
    public = {field.name for field in Event._meta.get_fields() if not field.is_relation}
    assert public == {"id", "position", "occurred_at", "channel", "session", "text", "text_sha256"}
    assert Persona.objects.exclude(traits=[]).exists()  # there is something to hide


def test_imports_go_one_way_only():
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter], cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout
