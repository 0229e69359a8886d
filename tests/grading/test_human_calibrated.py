"""Task success as humans would grade it: the audit slice of a method by PPI++, clustered by persona."""

from __future__ import annotations

import random
from dataclasses import replace

from bench.results.human import human_calibrated
from bench.results.rows import Row
from bench.statistics.ppi import mean_interval

PERSONAS, TASKS = 20, 10


def row(task: int, success: float | None, *, audit: bool) -> Row:
    return Row(
        method="iba", task_id=task, repeat=0, persona_id=task // TASKS, domain="dining", split="test",
        action="generate", status="scored",
        behaviour_accuracy=None, preference_satisfaction=None, task_success=success, evidence_recall=None, settled=None,
        over_applied=None, audit=audit, llm_calls=0, tokens_in=0, tokens_out=0, cost_usd=0, wall_s=0,
    )  # fmt: skip


def rows() -> tuple[list[Row], list[Row]]:
    """(humans, AI): tasks of a persona mostly end alike, the AI is right nine times of ten, a third is audited."""
    rng = random.Random(2)
    human, ai = [], []
    for task in range(PERSONAS * TASKS):
        likely = (task // TASKS) % 3 > 0
        truth = float(likely if rng.random() < 0.9 else not likely)
        said = truth if rng.random() < 0.9 else 1 - truth
        audit = rng.random() < 1 / 3
        human.append(row(task, truth if audit else None, audit=audit))
        ai.append(row(task, said, audit=audit))
    return human, ai


def test_the_slice_is_calibrated_by_persona():
    human, ai = rows()
    found = human_calibrated({"iba": human}, {"iba": ai})["iba"]
    both = [(h.task_success, a.task_success, a.persona_id) for h, a in zip(human, ai, strict=True)]
    graded = [one for one in both if one[0] is not None]
    rest = [one for one in both if one[0] is None]
    sample = ([y for y, _, _ in graded], [f for _, f, _ in graded], [f for _, f, _ in rest])
    by_persona = mean_interval(*sample, human_clusters=[p for *_, p in graded], rest_clusters=[p for *_, p in rest])
    assert (found["estimate"], found["low"], found["high"]) == by_persona
    assert (found["n_human"], found["n_ai"]) == (len(graded), 200)
    _, low, high = mean_interval(*sample)
    assert found["high"] - found["low"] > 1.3 * (high - low)


def test_escalated_trajectories_that_people_graded_are_no_random_sample():
    human, ai = rows()
    slice_only = human_calibrated({"iba": human}, {"iba": ai})
    escalated = [one if one.audit else row(one.task_id, 0.0, audit=False) for one in human]
    assert human_calibrated({"iba": escalated}, {"iba": ai}) == slice_only
    assert human_calibrated({"iba": [row(n, 1.0, audit=False) for n in range(200)]}, {"iba": ai}) == {}


def test_a_slice_that_is_not_decided_gives_no_estimate_and_says_how_far_it_is():
    ai = [row(task, 1.0, audit=task < 15) for task in range(200)]
    human = [row(task, 0.0 if task < 4 else None, audit=task < 15) for task in range(200)]
    found = human_calibrated({"iba": human}, {"iba": ai})["iba"]
    assert (found["estimate"], found["low"], found["high"]) == (None, None, None)
    assert found["reason"] == "4 of 15 audit trajectories decided; an estimate needs 90%"


def test_a_slice_that_was_graded_for_one_domain_speaks_for_that_domain_only():
    def placed(success, task):
        one = row(task, success, audit=task % 5 == 0)
        return replace(one, domain="dining" if task < 100 else "travel")

    ai = [placed(1.0, task) for task in range(200)]
    human = [placed(0.0 if task < 100 and task % 5 == 0 else None, task) for task in range(200)]
    found = human_calibrated({"iba": human}, {"iba": ai})["iba"]
    assert found["reason"] == "20 of 40 audit trajectories decided; an estimate needs 90%"
    assert found["by_domain"]["travel"]["reason"] == "0 of 20 audit trajectories decided; an estimate needs 90%"
    assert (found["by_domain"]["dining"]["reason"], found["by_domain"]["dining"]["estimate"]) == ("", 0.0)


def test_nine_in_ten_are_enough():
    ai = [row(task, 1.0, audit=task < 20) for task in range(200)]
    human = [row(task, 1.0 if task < 18 else None, audit=task < 20) for task in range(200)]
    found = human_calibrated({"iba": human}, {"iba": ai})["iba"]
    assert (found["reason"], found["n_human"], found["slice"], found["n_ai"]) == ("", 18, 20, 200)
