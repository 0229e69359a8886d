"""What a judge says as the database keeps it; and what it left open, which is asked again and bought anew."""

from __future__ import annotations

import json

import pytest

from bench.grading.coverage import judge_coverage, silence_warnings
from bench.models import Checkpoint, Endpoint, Run, Trajectory, Unit, Verdict
from bench.runs.claim import retry_failed
from bench.runs.execute import act, judge, rejudge
from bench.runs.launch import launch_run
from bench.runs.progress import progress_of
from bench.runs.spec import RunSpec
from tests.agents.conftest import script  # noqa: F401 (a fixture)
from tests.agents.support import completion


def reply(verdict: str = "pass", first: int = 1) -> str:
    """A whole reply about the one text at hand, or one that leaves out the checkpoints before ``first``."""
    last = Checkpoint.objects.filter(task__units__isnull=False, rule__isnull=True).count()
    ids = range(first, last + 1)
    return json.dumps({"verdicts": [{"id": f"k{n}", "rationale": "seen", "verdict": verdict} for n in ids]})


@pytest.fixture
def text_unit(tiny, offline, script) -> Unit:  # noqa: F811
    """A text that waits for its judge, which is the scripted endpoint and of the agent's family as the test wishes."""
    Endpoint.objects.create(slug="judge", base_url=script.url, model="m", family="some", system_role=True)
    run = launch_run(RunSpec(dataset="tiny", methods=["no_history"], model="offline", limit=1, judges=["judge"]))
    unit = run.units.get()
    texts = type(unit.task).objects.of_dataset(run.dataset_id).filter(scenario__action_kind="generate")
    Unit.objects.filter(pk=unit.pk).update(task=texts.first())
    act(unit.pk, "here")
    return Unit.objects.get(pk=unit.pk)


def verdicts(name: str = "judge") -> list[tuple[str, str]]:
    rows = Verdict.objects.filter(source="judge", name=name).order_by("pk")
    return list(rows.values_list("value", "rationale"))


def test_the_judges_own_words_are_kept_with_its_verdicts(text_unit, script):  # noqa: F811
    said = f'<think>k1 may fail {{"verdicts": []}}</think>Here it is:\n{reply()}\nThat is all.'
    script.says(said)
    judge(text_unit.pk, "here")
    assert {value for value, _ in verdicts()} == {"pass"}
    assert set(Verdict.objects.filter(source="judge").values_list("raw", flat=True)) == {said}


TWICE = '{"verdicts": [{"id": "k1", "rationale": "seen", "verdict": "pass", "verdict": "fail"}]}'


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (lambda: f"The format is {reply()} and so my answer is {reply('fail')}", "2 different JSON objects"),
        (lambda: TWICE, "the key 'verdict' is given twice"),
        (lambda: reply()[:-3], "its JSON object is cut off"),
        (lambda: "All good, pass!", "it holds no JSON object"),
        (lambda: f"<think>{reply()}", "it is empty"),
    ],
)
def test_a_reply_that_cannot_be_read_in_one_way_is_unscored_with_its_reason_and_words(text_unit, script, said, reason):  # noqa: F811
    script.says(words := said())
    judge(text_unit.pk, "here")
    assert {value for value, _ in verdicts()} == {""}
    assert all(reason in rationale for _, rationale in verdicts())
    assert set(Verdict.objects.filter(source="judge").values_list("raw", flat=True)) == {words}


def test_one_bad_row_amid_prose_costs_that_checkpoint_only(text_unit, script):  # noqa: F811
    rows = json.loads(reply())
    rows["verdicts"][0]["verdict"] = "mostly"
    script.says(f"My verdicts: {json.dumps(rows)}")
    judge(text_unit.pk, "here")
    (first, *others) = verdicts()
    assert first[0] == ""
    assert "off-menu grade 'mostly'" in first[1]
    assert {value for value, _ in others} == {"pass"}


def odd_row(rows: list[dict]) -> list[dict]:
    return [{**rows[0], "verdict": "mostly"}, *rows[1:]]


def unknown_id(rows: list[dict]) -> list[dict]:
    return [{**rows[0], "id": "k99"}, *rows[1:]]


def extra_property(rows: list[dict]) -> list[dict]:
    return [{**rows[0], "confidence": 0.9}, *rows[1:]]


@pytest.mark.parametrize(("change", "lost"), [(odd_row, 1), (unknown_id, 1), (extra_property, 0)])
def test_an_odd_grade_id_or_property_costs_no_other_checkpoint_its_verdict(text_unit, script, change, lost):  # noqa: F811
    script.says(words := json.dumps({"verdicts": change(json.loads(reply())["verdicts"])}))
    script.requests.clear()
    judge(text_unit.pk, "here")
    assert len(script.requests) == 3  # the reply was asked to be mended twice, and was not
    values = [value for value, _ in verdicts()]
    assert (values.count(""), values.count("pass")) == (lost, len(values) - lost)
    assert set(Verdict.objects.filter(source="judge").values_list("raw", flat=True)) == {words}


@pytest.mark.parametrize("mended", [(200, "I stand by it."), (400, "the prompt is too long"), (422, "no")])
def test_a_repair_that_fails_does_not_cost_what_the_first_reply_said(text_unit, script, mended):  # noqa: F811
    words = json.dumps({"verdicts": odd_row(json.loads(reply())["verdicts"])})
    status, said = mended
    body = completion(said) if status == 200 else {"error": {"message": said}}
    script.answers = [(200, {}, completion(words)), (status, {}, body)]
    judge(text_unit.pk, "here")
    values = [value for value, _ in verdicts()]
    assert (values.count(""), values.count("pass")) == (1, len(values) - 1)
    assert set(Verdict.objects.filter(source="judge").values_list("raw", flat=True)) == {words}


def test_retry_asks_a_judge_that_answered_nothing_anew_and_the_agent_not_at_all(text_unit, script):  # noqa: F811
    script.says("no object")
    judge(text_unit.pk, "here")
    before, asked = Trajectory.objects.values().get(), len(script.requests)
    run = Run.objects.get()
    Run.objects.update(status="done")
    assert progress_of(Run.objects.get()).unanswered == 1
    script.says(reply())
    assert retry_failed(run.pk) == 1
    assert Unit.objects.get().status == "acted"
    judge(text_unit.pk, "here")
    assert len(script.requests) == asked + 1  # the kept bad reply is not replayed
    assert {value for value, _ in verdicts()} == {"", "pass"}
    assert Unit.objects.get().status == "scored"
    assert Trajectory.objects.values().get() == before
    assert retry_failed(run.pk) == 0


def test_rejudge_of_what_is_missing_asks_only_about_the_checkpoints_that_lack_a_verdict(text_unit, script):  # noqa: F811
    script.says(reply(first=2))  # k1 is left out
    judge(text_unit.pk, "here")
    first = len(verdicts())
    script.requests.clear()
    script.says(reply("fail"))
    assert rejudge(Run.objects.get(), ["judge"], missing=True) == 1
    assert verdicts()[first:] == [("fail", "seen")]
    assert "[k2]" not in json.dumps(script.requests[-1]["messages"])
    count = len(script.requests)
    assert rejudge(Run.objects.get(), ["judge"], missing=True) == 0
    assert len(script.requests) == count


def test_a_judge_that_left_checkpoints_open_shows_in_its_coverage_and_is_warned_of(text_unit, script):  # noqa: F811
    script.says("no object")
    judge(text_unit.pk, "here")
    run, n = Run.objects.get(), len(verdicts())
    assert judge_coverage(run) == [{"judge": "judge", "asked": n, "answered": 0, "share": 0.0}]
    (warning,) = silence_warnings(judge_coverage(run))
    assert f"judge answered 0 of {n} checkpoints" in warning
    script.says(reply())
    rejudge(run, ["judge"], missing=True)
    assert judge_coverage(run) == [{"judge": "judge", "asked": n, "answered": n, "share": 1.0}]
    assert list(silence_warnings(judge_coverage(run))) == []


@pytest.mark.parametrize(("answered", "warned"), [(95, False), (94, True)])
def test_a_coverage_below_95_percent_is_warned_of(answered, warned):
    row = {"judge": "j", "asked": 100, "answered": answered, "share": answered / 100}
    assert bool(list(silence_warnings([row]))) is warned


def test_a_judge_of_the_agents_family_is_marked_also_where_it_is_asked_later(text_unit, script):  # noqa: F811
    script.says(reply())
    own = Run.objects.get().manifest["model"]["family"]
    for slug, family in (("late-own", own), ("late-other", "another")):
        Endpoint.objects.create(slug=slug, base_url=script.url, model=slug, family=family)
    rejudge(Run.objects.get(), ["late-own", "late-other"])
    marked = set(Verdict.objects.filter(source="judge").values_list("name", "own_family"))
    assert marked == {("late-own", True), ("late-other", False)}
