"""Kept numbers are those of the newest verdicts, whatever happens while they are computed."""

from __future__ import annotations

import threading

import pytest
from django.db import connection, transaction

from bench.grading.store import append_verdicts, rubric_version, score_trajectories
from bench.models import CheckpointScore, Run, ScoreChanges, Trajectory, Unit, Verdict
from bench.results.agreement_report import agreement_of, measure_agreement
from bench.results.kept import FORMAT, keep, kept, remember
from bench.results.report import compute, results_of
from tests.annotation.factories import PANEL, judge, make_run

FIELDS = {"results": compute, "agreement": measure_agreement}


def fresh(run: Run) -> Run:
    return Run.objects.get(pk=run.pk)


def version(run: Run) -> int:
    return fresh(run).scores_version


def fail_one_text(run: Run) -> None:
    """All judges change their mind about the first text of iba."""
    found = Trajectory.objects.filter(unit__run=run, unit__method="iba", unit__task__scenario__action_kind="generate")
    judge(found.order_by("pk").first(), dict.fromkeys(PANEL, "fail"))


def meanwhile(work) -> None:
    """Do it on another connection, as another process would, and wait for its commit."""
    errors = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


def overtaken(run: Run, measure):
    """A computation during which the judges change their mind."""

    def measured(one: Run):
        first = measure(one)
        meanwhile(lambda: fail_one_text(run))
        assert measure(one) == first  # one moment, to the end
        return first

    return measured


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("field", FIELDS)
def test_numbers_that_a_verdict_overtook_are_not_kept(field):
    run = make_run()
    measure = FIELDS[field]
    old = keep(fresh(run), field, overtaken(run, measure))
    assert kept(fresh(run), field) is None
    new = keep(fresh(run), field, measure)
    assert new == getattr(fresh(run), field) == measure(fresh(run))
    assert new != old


@pytest.mark.django_db(transaction=True)
def test_numbers_that_a_verdict_overtook_are_not_remembered_for_the_new_version():
    run = make_run()
    measured = overtaken(run, compute)
    old = remember("one-view", (fresh(run),), lambda: measured(run))
    new = remember("one-view", (fresh(run),), lambda: compute(run))
    assert new == compute(run) != old


@pytest.mark.django_db
@pytest.mark.parametrize("view", ["ai", "human"])
def test_a_view_is_remembered_until_a_verdict_changes(view, django_assert_num_queries):
    run = make_run()
    before = results_of(fresh(run), view)
    read = fresh(run)
    with django_assert_num_queries(1):  # whether something has changed
        assert results_of(read, view) == before
    fail_one_text(run)
    assert results_of(fresh(run), view) == compute(run, view)


def add_verdict(run: Run) -> None:
    score = CheckpointScore.objects.filter(trajectory__unit__run=run).first()
    append_verdicts(
        [
            Verdict(
                trajectory_id=score.trajectory_id, checkpoint_id=score.checkpoint_id, source="judge", name="late",
                rubric_version=rubric_version(), value="fail",
            )
        ]
    )  # fmt: skip


CHANGES = {
    "a verdict": add_verdict,
    "a score by hand": lambda run: CheckpointScore.objects.filter(trajectory__unit__run=run).update(combined=""),
    "a deleted score": lambda run: CheckpointScore.objects.filter(trajectory__unit__run=run).delete(),
    "a unit that fails": lambda run: Unit.objects.filter(run=run).update(status="failed"),
}


# The same on the run's first trajectory alone.
OTHERS_CHANGES = {
    "a verdict": add_verdict,
    "a score by hand": lambda run: _first_scores(run).update(combined=""),
    "a deleted score": lambda run: _first_scores(run).delete(),
    "a unit that fails": lambda run: Unit.objects.filter(pk=run.units.first().pk).update(status="failed"),
}


def _first_scores(run: Run):
    return CheckpointScore.objects.filter(trajectory=Trajectory.objects.filter(unit__run=run).first())


@pytest.mark.django_db
@pytest.mark.parametrize("change", CHANGES)
def test_every_change_counts_the_version_up_and_drops_what_is_kept(change):
    run = make_run()
    results_of(fresh(run))
    agreement_of(fresh(run))
    before = version(run)
    CHANGES[change](run)
    assert version(run) > before
    assert (kept(fresh(run), "results"), kept(fresh(run), "agreement")) == (None, None)


@pytest.mark.django_db
def test_scoring_again_writes_nothing_where_nothing_changed():
    run = make_run()
    results_of(fresh(run))
    before = version(run)
    score_trajectories(run.units.values_list("trajectory__pk", flat=True))
    assert version(run) == before
    assert kept(fresh(run), "results") is not None


@pytest.mark.django_db
def test_other_runs_keep_theirs_and_a_lease_changes_nothing():
    run = make_run()
    other = Run.objects.create(
        dataset=run.dataset, manifest=run.manifest, manifest_sha256="1" * 64, simulated=True, model="m"
    )
    results_of(other)
    before = version(run)
    Unit.objects.filter(run=run).update(status="running", claimed_by="w")
    assert version(run) == before
    fail_one_text(run)
    assert (version(other), kept(fresh(other), "results")) == (0, results_of(other))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("change", CHANGES)
def test_who_changes_a_run_waits_for_nobody_else_who_does(change):
    """Fifty raters of one run would wait in a row: each change is counted, and none holds up the next."""
    run = make_run()
    last = Trajectory.objects.filter(unit__run=run).last()
    with transaction.atomic():
        Unit.objects.filter(pk=last.unit_id).update(status="failed")
        judge(last, dict.fromkeys(PANEL, "fail"), position=0)

        def another() -> None:
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '5s'")
            try:
                with transaction.atomic():
                    OTHERS_CHANGES[change](run)
            finally:
                with connection.cursor() as cursor:
                    cursor.execute("SET lock_timeout = 0")

        before = version(run)
        meanwhile(another)
        assert version(run) > before


@pytest.mark.django_db(transaction=True)
def test_a_run_is_deleted_with_its_count_of_changes():
    """Also where a score goes with it, and is counted on the way."""
    graded = make_run()
    task = graded.units.first().task
    run = Run.objects.create(dataset=graded.dataset, manifest={}, manifest_sha256="1" * 64, simulated=True, model="m")
    unit = Unit.objects.create(run=run, task=task, method="iba", status="scored")
    trajectory = Trajectory.objects.create(unit=unit, termination="completed", data={})
    CheckpointScore.objects.create(trajectory=trajectory, checkpoint=task.checkpoints.first())
    assert version(run) > 0
    run.delete()
    assert not ScoreChanges.objects.filter(run=run.pk).exists()
    assert ScoreChanges.objects.filter(run=graded).exists()


@pytest.mark.django_db(transaction=True)
def test_scoring_waits_for_whoever_adds_verdicts_to_the_trajectory():
    run = make_run()
    found = CheckpointScore.objects.filter(trajectory__unit__run=run, checkpoint__rule__isnull=True)
    score = found.filter(trajectory__unit__method="iba").first()
    held, go_on = threading.Event(), threading.Event()

    def submit() -> None:
        """As a rater does, up to the moment before the own scoring."""
        with transaction.atomic():
            Trajectory.objects.select_for_update(no_key=True).get(pk=score.trajectory_id)
            append_verdicts(
                [
                    Verdict(
                        trajectory_id=score.trajectory_id, checkpoint_id=score.checkpoint_id, source="judge", name=name,
                        rubric_version=rubric_version(), value="fail",
                    )
                    for name in PANEL
                ]
            )  # fmt: skip
            held.set()
            assert go_on.wait(30)
        connection.close()

    rater = threading.Thread(target=submit)
    scorer = threading.Thread(target=lambda: (score_trajectories([score.trajectory_id]), connection.close()))
    rater.start()
    assert held.wait(30)
    scorer.start()
    while scorer.is_alive() and not somebody_waits_for_a_lock():
        pass
    go_on.set()
    rater.join()
    scorer.join()
    score.refresh_from_db()
    assert score.combined == "fail"


def somebody_waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        return cursor.fetchone()[0] > 0


@pytest.mark.django_db(transaction=True)
def test_two_that_score_one_trajectory_at_once_end_with_all_verdicts():
    """The second waits for the first, and reads the verdicts when it is its turn."""
    run = make_run()
    score = CheckpointScore.objects.filter(trajectory__unit__method="iba", checkpoint__rule__isnull=True).first()
    start = threading.Barrier(len(PANEL))

    def fail(name: str) -> None:
        start.wait()
        judge(score.trajectory, {name: "fail"})

    threads = [threading.Thread(target=lambda n=name: (fail(n), connection.close())) for name in PANEL]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    score.refresh_from_db()
    assert (score.combined, score.reason) == ("fail", "3 of 3 judges say fail")
    assert results_of(fresh(run)) == compute(run)


@pytest.mark.django_db
@pytest.mark.parametrize("field", FIELDS)
def test_what_other_code_has_kept_is_computed_anew(field):
    run = make_run()
    Run.objects.filter(pk=run.pk).update(**{field: {"format": 1, "cells": "of another shape"}})
    assert keep(fresh(run), field, FIELDS[field]) == FIELDS[field](run)
    assert getattr(fresh(run), field)["format"] == FORMAT
