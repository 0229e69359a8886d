"""What a lost, prosaic, repeated or reordered judge does to the measures of a run: nothing, or an unscored unit."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from bench.grading.store import append_verdicts, rubric_version, score_trajectories
from bench.models import CheckpointScore, Run, Trajectory, Verdict
from bench.results.report import compute
from tests.annotation.factories import PANEL, make_run

pytestmark = pytest.mark.django_db

MEASURES = ("task_success", "behaviour_accuracy", "preference_satisfaction")


def bare_run(personas: int = 4) -> Run:
    """The small run before any judge has answered: its rules alone have graded."""
    run = make_run(personas=personas)
    # verdicts cannot be deleted, so the judges of the factory are taken off the panel
    run.manifest["policy"]["panel"] = [f"new-{name}" for name in PANEL]
    run.save()
    return run


def replies(run: Run, seed: int = 1) -> list[Verdict]:
    """One verdict of each judge on each text checkpoint; the judges agree."""
    rng = random.Random(seed)
    rows = []
    texts = Trajectory.objects.filter(unit__run=run, unit__task__scenario__action_kind="generate")
    for trajectory in texts.order_by("unit"):
        for checkpoint in trajectory.unit.task.checkpoints.order_by("pk"):
            value = rng.choice(["pass", "pass", "fail"])
            rows += [
                Verdict(
                    trajectory=trajectory, checkpoint=checkpoint, source="judge", name=name, value=value,
                    rubric_version=rubric_version(), rationale="read",
                )
                for name in run.manifest["policy"]["panel"]
            ]  # fmt: skip
    return rows


def measures(run: Run, rows: list[Verdict]) -> list[dict]:
    append_verdicts(rows)
    score_trajectories(run.units.values_list("trajectory__pk", flat=True))
    counts = ("planned", "evaluated", "errors", "unscored")
    return [{name: cell[name] for name in (*counts, *MEASURES)} for cell in compute(run)["cells"]]


def silence(rows: list[Verdict], which) -> list[Verdict]:
    """The same rows, some without a usable verdict."""
    for row in rows:
        if which(row):
            row.value, row.rationale, row.raw = "", "the reply is not JSON", "All good, pass!"
    return rows


def make_copy(run: Run) -> Run:
    """A run over the same tasks with the same trajectories and no verdict of judges."""
    copy = Run.objects.create(
        dataset=run.dataset, status="done", manifest=run.manifest, manifest_sha256="1" * 64, simulated=True, model="m"
    )
    for unit in run.units.order_by("pk"):
        trajectory, unit.pk, unit.run = unit.trajectory, None, copy
        rules = list(trajectory.verdicts.filter(source="rule"))
        unit.save()
        trajectory.pk, trajectory.unit = None, unit
        trajectory.save()
        for rule in rules:
            rule.pk, rule.trajectory = None, trajectory
        append_verdicts(rules)
    return copy


def test_a_dead_judge_leaves_the_measures_to_the_two_that_agree():
    run = bare_run()
    whole = measures(run, replies(run))
    assert [cell["unscored"] for cell in whole] == [0, 0]
    other = Run.objects.get(pk=make_copy(run).pk)
    dead = silence(replies(other), lambda row: row.name == "new-judge-south")
    assert measures(other, dead) == whole


def test_two_dead_judges_leave_texts_unscored_and_never_failed():
    run = bare_run()
    found = measures(run, silence(replies(run), lambda row: row.name != "new-judge-south"))
    # half of the 8 units of a method are texts
    assert [(cell["planned"], cell["evaluated"], cell["unscored"]) for cell in found] == [(8, 4, 4)] * 2
    assert all(cell["task_success"]["mean"] == 1 for cell in found)  # the calls, graded by rules


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_order_of_judges_and_of_their_verdicts_never_matters(order):
    run = bare_run()
    whole = measures(run, replies(run))
    other = make_copy(run)
    other.manifest["policy"]["panel"] = [f"new-{PANEL[place]}" for place in order]
    other.save()
    rows = replies(other)
    random.Random(str(order)).shuffle(rows)
    assert measures(other, rows) == whole


def test_a_verdict_that_comes_twice_counts_once():
    run = bare_run()
    whole = measures(run, replies(run))
    assert measures(run, [row for row in replies(run) if row.name == "new-judge-east"]) == whole


def test_a_fifth_of_malformed_replies_leaves_gaps_and_changes_no_value():
    run = bare_run(personas=10)
    whole, scored = measures(run, replies(run)), values(run)
    other = make_copy(run)
    rng = random.Random(4)
    found = measures(other, silence(replies(other), lambda row: rng.random() < 0.2))
    pairs = list(zip(values(other), scored, strict=True))
    assert all(now in (before, "") for now, before in pairs)
    gaps = sum(now != before for now, before in pairs)
    assert 0 < gaps < 0.25 * len(pairs)  # two or more of three lost: about 10%
    for cell, before in zip(found, whole, strict=True):
        assert cell["planned"] == before["planned"] == cell["evaluated"] + cell["unscored"]
        assert cell["task_success"]["n"] == cell["evaluated"] < before["evaluated"]


def values(run: Run) -> list[str]:
    """The combined values of the texts, in one order for copies of a run."""
    scores = CheckpointScore.objects.filter(trajectory__unit__run=run, checkpoint__rule__isnull=True)
    return list(scores.order_by("trajectory_id", "checkpoint__position").values_list("combined", flat=True))
