"""Checkpoints that were found wrong are asked of nobody and counted nowhere; nothing that was said is lost."""

from __future__ import annotations

import threading

import pytest
from django.db import connection, transaction

from annotation.batches import Choice, create_batch
from annotation.grading import checkpoints
from annotation.queue import take_next
from bench.grading.errata import put_back, retire
from bench.grading.store import rule_verdicts, score_trajectories
from bench.models import Checkpoint, CheckpointScore, Dataset, Erratum, Trajectory, Verdict
from bench.results.agreement_report import agreement_of
from bench.results.report import results_of
from tests.annotation.factories import AS_OF, make_cast, make_run


@pytest.fixture
def run(db):
    return make_run()


@pytest.fixture
def soft(run):
    """The preference of a booking: a rule decides it."""
    return Checkpoint.objects.filter(kind="preference", rule__isnull=False).earliest("pk")


def scores_of(run):
    run.refresh_from_db()
    return {cell["method"]: cell["task_success"] for cell in results_of(run)["cells"]}


def lose(trajectory, checkpoint):
    """An adjudicator's word that the checkpoint is not met."""
    Verdict.objects.create(
        trajectory=trajectory, checkpoint=checkpoint, rubric_version=trajectory.verdicts.first().rubric_version,
        source="adjudication", name="otto", rater=make_cast()["otto"], value="fail", rationale="No.",
    )  # fmt: skip
    score_trajectories([trajectory.pk])


def test_scores_leave_a_retired_checkpoint_out_and_take_it_in_again_when_it_is_put_back(run, soft):
    """iba has 4 trajectories; one fails by this checkpoint alone: 3 of 4, then 4 of 4, then 3 of 4."""
    failed = Trajectory.objects.get(unit__run=run, unit__method="iba", unit__task=soft.task)
    lose(failed, soft)
    assert scores_of(run)["iba"]["mean"] == 0.75
    said = Verdict.objects.count()
    retire(soft.pk, reason="Two places are as soft.", by="ada")
    assert scores_of(run)["iba"]["mean"] == 1.0
    put_back(soft.pk, by="ada")
    assert scores_of(run)["iba"]["mean"] == 0.75
    assert Verdict.objects.count() == said


def test_each_change_is_a_revision_of_the_version_and_the_erratum_says_who_and_why(run, soft):
    retire(soft.pk, reason=" Two places are as soft. ", by="ada")
    dataset = Dataset.objects.get()
    assert (str(dataset), dataset.validity["retired_checkpoints"]) == ("small v1.1", 1)
    put_back(soft.pk, by="otto")
    dataset = Dataset.objects.get()
    assert (str(dataset), dataset.validity["retired_checkpoints"]) == ("small v1.2", 0)
    erratum = Erratum.objects.get()
    assert (erratum.reason, erratum.by, erratum.put_back_by) == ("Two places are as soft.", "ada", "otto")


@pytest.mark.parametrize("reason", ["", "  ", "x" * 1001])
def test_retiring_needs_a_reason_and_changes_nothing_without_one(run, soft, reason):
    with pytest.raises(ValueError, match="why the checkpoint is wrong"):
        retire(soft.pk, reason=reason, by="ada")
    assert not Erratum.objects.exists()
    assert Dataset.objects.get().revision == 0


def test_a_checkpoint_is_retired_once_and_put_back_once(run, soft):
    with pytest.raises(ValueError, match="is not retired"):
        put_back(soft.pk, by="ada")
    retire(soft.pk, reason="Wrong.", by="ada")
    with pytest.raises(ValueError, match="retired already"):
        retire(soft.pk, reason="Wrong.", by="ada")


def test_raters_are_not_asked_and_a_verdict_given_before_stays_without_a_score(run, soft):
    cast = make_cast()
    create_batch(run=run, choice=Choice.DOMAIN, domain="dining", size=50, raters_wanted=2, created_by=cast["ada"])
    retire(soft.pk, reason="Wrong.", by="ada")
    mine = take_next(rater_id=cast["ann"].pk, now=AS_OF)
    assert soft.pk not in checkpoints(mine).values_list("pk", flat=True)
    other = Trajectory.objects.filter(unit__task=soft.task).first()
    score_trajectories([other.pk])
    assert not CheckpointScore.objects.filter(checkpoint=soft).exists()
    assert agreement_of(run) is not None


def test_what_a_trajectory_saw_of_its_gold_is_measured_again(run, soft):
    trajectory = Trajectory.objects.filter(unit__task=soft.task).first()
    trajectory.evidence_recall = 0.25
    trajectory.save()
    retire(soft.pk, reason="Wrong.", by="ada")
    trajectory.refresh_from_db()
    assert trajectory.evidence_recall is None  # the task has no gold events any more
    assert trajectory.settled is None


@pytest.mark.django_db(transaction=True)
def test_a_score_that_was_computed_before_and_stored_after_is_dropped(transactional_db):
    run = make_run()
    soft = Checkpoint.objects.filter(kind="preference", rule__isnull=False).earliest("pk")
    trajectory = Trajectory.objects.filter(unit__task=soft.task).first()
    computed = CheckpointScore(trajectory=trajectory, checkpoint=soft, combined="pass")
    retire(soft.pk, reason="Wrong.", by="ada")
    CheckpointScore.objects.bulk_create([computed])
    assert not CheckpointScore.objects.filter(checkpoint=soft).exists()
    assert rule_verdicts(trajectory)  # rules are free: what they say is kept for when it is put back
    assert run.pk


@pytest.mark.django_db(transaction=True)
def test_retiring_waits_for_a_score_that_is_being_stored(transactional_db):
    make_run()
    soft = Checkpoint.objects.filter(kind="preference", rule__isnull=False).earliest("pk")
    trajectory = Trajectory.objects.filter(unit__task=soft.task).first()
    CheckpointScore.objects.filter(trajectory=trajectory, checkpoint=soft).delete()
    done = threading.Event()

    def retires():
        retire(soft.pk, reason="Wrong.", by="ada")
        done.set()
        connection.close()

    thread = threading.Thread(target=retires)
    with transaction.atomic():
        CheckpointScore.objects.create(trajectory=trajectory, checkpoint=soft, combined="pass")
        thread.start()
        assert not done.wait(0.3)
    thread.join()
    assert not CheckpointScore.objects.filter(checkpoint=soft).exists()
