"""What export_results writes is enough to compute a run's table anew."""

import json
import subprocess
import sys

import pytest

from bench.exports import export_results
from bench.models import Run, Unit, Verdict
from bench.runs.manifest import ROOT
from examples.recompute import recompute

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
    _, wrong = recompute(exported)
    assert any("from verdicts" in line for line in wrong)
    assert any("from the files" in line for line in wrong)


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
