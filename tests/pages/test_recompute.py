"""What export_results writes is enough to compute a run's table anew."""

import json
import subprocess
import sys

import pytest

from bench.exports import export_results
from bench.grading.store import score_trajectories
from bench.models import Run, Trajectory, Unit, Verdict
from bench.runs.manifest import ROOT
from examples.recompute import recompute
from tests.pages.acting import grade

pytestmark = pytest.mark.django_db


@pytest.fixture
def exported(finished, tmp_path):
    """A finished run of which one unit failed, as files."""
    Unit.objects.create(
        run=finished, task=finished.units.first().task, method="rag", repeat=1, status="failed", error="timed out"
    )
    export_results(Run.objects.get(pk=finished.pk), tmp_path)
    return tmp_path


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_table_of_the_page_is_computed_from_the_export_alone(exported):
    """In a process of its own, without settings and database; then a changed verdict is found out."""
    command = [sys.executable, str(ROOT / "examples" / "recompute.py"), str(exported)]
    done = subprocess.run(command, cwd=exported, env={"PATH": ""}, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert "iba: 6 of 6 evaluated, 0 failed; behaviour_accuracy 1.0" in done.stdout
    assert "rag: 6 of 7 evaluated, 1 failed" in done.stdout


def test_numbers_that_do_not_follow_from_the_verdicts_are_named(exported):
    rows = lines(exported / "verdicts.jsonl")
    rows[0]["value"] = "fail" if rows[0]["value"] == "pass" else "pass"
    rows = [rows[0], *(row for row in rows[1:] if row["checkpoint"] != rows[0]["checkpoint"])]
    (exported / "verdicts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    wrong = recompute(exported).wrong
    assert any("from verdicts" in line for line in wrong)
    assert any("from the files" in line for line in wrong)
    assert any(line.startswith("paired") for line in wrong)


def test_kinds_of_action_pairs_and_recall_are_computed_from_the_export_as_the_pages_show_them(
    exported, viewer, finished
):
    """iba loses the task checkpoint of its calls and sees all gold events there; a fifth of them in its texts."""
    for unit in finished.units.filter(method="iba").select_related("task__scenario", "trajectory"):
        calls = unit.task.scenario.action_kind == "call_api"
        Trajectory.objects.filter(pk=unit.trajectory.pk).update(
            evidence_recall=1.0 if calls else 0.2, settled=1.0 if calls else 0.5, over_applied=1
        )
        if calls:
            grade(unit.trajectory, unit.task.checkpoints.get(kind="task"), "fail", "it is for three")
            score_trajectories([unit.trajectory.pk])
    export_results(Run.objects.get(pk=finished.pk), exported)
    found = recompute(exported)
    assert found.wrong == []
    page = viewer.get(f"/runs/{finished.pk}/").context
    for cell in page["cells"]:
        ours = found.cells[cell["method"]]
        assert ours["recall"] == pytest.approx(cell["recall"])
        assert ours["settled"] == pytest.approx(cell["settled"])
        for kind, part in cell["by_action"].items():
            assert ours["by_action"][kind]["task_success"] == pytest.approx(part["task_success"])
            assert ours["by_action"][kind]["recall"] == pytest.approx(part["recall"])
    iba = found.cells["iba"]
    assert iba["recall"]["mean"] == pytest.approx(0.6)  # three of .2 and three of 1
    assert iba["settled"]["mean"] == pytest.approx(0.75)  # three of .5 and three of 1
    assert [iba["by_action"][kind]["task_success"]["mean"] for kind in ("generate", "call_api")] == [1, 0]
    (row,) = page["pairs"]
    for kind, pair in (("", row["pair"]), *((part["action"], part) for part in row["parts"])):
        ours = found.pairs[kind]["iba against rag, task_success"]
        assert {name: pair[name] for name in ours} == pytest.approx(ours)
    assert {part["action"]: part["difference"] for part in row["parts"]} == {"generate": 1, "call_api": 0}


@pytest.mark.parametrize(
    ("file", "change", "where"),
    [
        ("results.json", ("paired", "low"), "paired  iba against rag"),
        ("results.json", ("paired_by_action", "difference"), "paired call_api iba against rag"),
        ("results.json", ("cells", "recall"), "recall"),
    ],
)
def test_a_number_of_the_results_that_is_another_is_named(exported, file, change, where):
    results = json.loads((exported / file).read_text())
    group, name = change
    row = results[group][0]
    row[name] = {**row[name], "mean": 0.123} if isinstance(row[name], dict) else 0.123
    (exported / file).write_text(json.dumps(results))
    assert any(where in line for line in recompute(exported).wrong)


def test_the_export_names_failed_units_and_what_groups_them(exported):
    failed = [unit for unit in lines(exported / "units.jsonl") if unit["status"] == "failed"]
    assert [(unit["method"], unit["repeat"], unit["error"], unit["trajectory"]) for unit in failed] == [
        ("rag", 1, "timed out", None)
    ]
    assert {"audit", "persona", "domain", "action_kind", "split", "repeat"} <= failed[0].keys()


def test_the_export_has_all_that_a_verdict_says(exported):
    rows = lines(exported / "verdicts.jsonl")
    assert len(rows) == Verdict.objects.count()
    assert {"raw", "contradicts", "own_family", "anchor", "simulated", "created_at"} <= rows[0].keys()
    agreement = json.loads((exported / "agreement.json").read_text())
    assert {"pairs", "effective_votes", "panel", "warnings"} <= agreement.keys()
