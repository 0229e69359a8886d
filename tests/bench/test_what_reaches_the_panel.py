"""What a rule cannot judge reaches the panel, and what a judge says without a reason counts for nothing."""

from __future__ import annotations

import json

import pytest

from agents.contract import Action, ActionKind, Termination
from agents.contract import Trajectory as Course
from bench.models import Checkpoint, CheckpointScore, Endpoint, Run, Unit, UnitStatus, Verdict
from bench.results.report import results_of
from bench.runs.claim import claim
from bench.runs.execute import act, judge, store_course
from bench.runs.launch import launch_run
from bench.runs.spec import RunSpec
from tests.agents.conftest import script  # noqa: F401 (a fixture)


@pytest.fixture
def unit(tiny, offline, script) -> Unit:  # noqa: F811
    """A unit whose one judge is the scripted endpoint."""
    Endpoint.objects.create(slug="judge", base_url=script.url, model="m", family="some")
    run = launch_run(RunSpec(dataset="tiny", methods=["no_history"], model="offline", limit=1, judges=["judge"]))
    script.requests.clear()
    return run.units.get()


def give(unit: Unit, action_kind: str) -> Unit:
    tasks = type(unit.task).objects.of_dataset(unit.run.dataset_id).filter(scenario__action_kind=action_kind)
    Unit.objects.filter(pk=unit.pk).update(task=tasks.order_by("pk").first())
    return Unit.objects.select_related("run", "task__scenario").get(pk=unit.pk)


def book(unit: Unit, day: str) -> Checkpoint:
    """A call on that day is stored, where the third of April 2026 is right; returns the checkpoint that asks for it."""
    asked = unit.task.checkpoints.order_by("position").first()
    unit.task.checkpoints.exclude(pk=asked.pk).delete()
    Checkpoint.objects.filter(pk=asked.pk).update(rule={"argument": "day", "equals": "2026-04-03", "type": "date"})
    assert claim(unit.pk, UnitStatus.RUNNING, "here")
    course = Course(Termination.COMPLETED, action=Action(ActionKind.CALL_API, tool="book", arguments={"day": day}))
    store_course(unit, "here", course, [{"tool": "book", "arguments": {"day": day}}], 0.1)
    return asked


def verdicts(checkpoint: Checkpoint) -> list[tuple[str, str]]:
    return list(Verdict.objects.filter(checkpoint=checkpoint).order_by("pk").values_list("source", "value"))


def said(value: str, rationale: str = "the user said the third of April") -> str:
    return json.dumps({"verdicts": [{"id": "k1", "rationale": rationale, "verdict": value}]})


@pytest.mark.parametrize("value", ["pass", "fail"])
def test_a_call_with_an_ambiguous_date_reaches_the_panel_which_decides(value, unit, script):  # noqa: F811
    asked = book(give(unit, "call_api"), "03/04/2026")  # day first or month first
    assert verdicts(asked) == [("rule", "cannot_judge")]
    assert Unit.objects.get(pk=unit.pk).status == UnitStatus.ACTED  # it waits for its judges
    script.says(said(value))
    judge(unit.pk, "here")
    assert verdicts(asked) == [("rule", "cannot_judge"), ("judge", value)]
    assert "03/04/2026" in json.dumps(script.requests[-1]["messages"])
    score = CheckpointScore.objects.get(checkpoint=asked)
    assert (score.combined, score.origin) == (value, "panel")
    assert Unit.objects.get(pk=unit.pk).status == UnitStatus.SCORED


def test_a_call_with_a_plain_date_never_reaches_the_panel(unit, script):  # noqa: F811
    asked = book(give(unit, "call_api"), "3 April 2026")
    assert verdicts(asked) == [("rule", "pass")]
    assert Unit.objects.get(pk=unit.pk).status == UnitStatus.SCORED
    assert script.requests == []


@pytest.mark.parametrize("rationale", ["", " \n", None])
def test_a_verdict_without_a_rationale_is_stored_as_unscored_and_counts_for_nothing(rationale, unit, script):  # noqa: F811
    text = give(unit, "generate")
    act(text.pk, "here")
    count = text.task.checkpoints.filter(rule__isnull=True).count()
    rows = [
        {"id": f"k{n}", "rationale": "seen" if n > 1 else rationale, "verdict": "pass"} for n in range(1, count + 1)
    ]
    script.says(json.dumps({"verdicts": rows}))
    judge(text.pk, "here")
    first, *others = Verdict.objects.filter(source="judge").order_by("pk")
    assert (first.value, "rationale" in first.rationale) == ("", True)
    assert {one.value for one in others} == {"pass"}
    score = CheckpointScore.objects.get(checkpoint=first.checkpoint)
    assert (score.combined, score.ai) == ("", "")
    (cell,) = results_of(Run.objects.get(pk=text.run_id))["cells"]
    assert (cell["evaluated"], cell["unscored"], cell["task_success"]["mean"]) == (0, 1, None)
