from datetime import timedelta

import pytest

from annotation.grading import OpenCheckpoints, PlaceTaken, rubric, save_comments, save_grade, submit
from annotation.models import Assignment, DraftGrade
from annotation.queue import LEASE, AlreadySubmitted, take_next
from bench.models import Checkpoint, CheckpointScore, Run, Verdict
from bench.scoring.results import results_of


@pytest.fixture
def mine(make_batch, cast, now):
    make_batch(size=1, raters=2)
    return take_next(rater_id=cast["ann"].pk, now=now)


def grade_all(assignment, now, value="pass"):
    for line in rubric(assignment):
        save_grade(assignment=assignment, checkpoint_id=line.checkpoint.pk, now=now, value=value)


def test_a_grade_is_kept_and_a_comment_does_not_touch_it(mine, now):
    first = rubric(mine)[0].checkpoint.pk
    save_grade(assignment=mine, checkpoint_id=first, now=now, value="fail")
    save_grade(assignment=mine, checkpoint_id=first, now=now, comment="The table is for three.")
    line = rubric(mine)[0]
    assert (line.value, line.comment) == ("fail", "The table is for three.")


def test_a_grade_can_be_taken_back(mine, now):
    first = rubric(mine)[0].checkpoint.pk
    save_grade(assignment=mine, checkpoint_id=first, now=now, value="fail")
    save_grade(assignment=mine, checkpoint_id=first, now=now, value="")
    assert rubric(mine)[0].value == ""


def test_every_save_extends_the_lease(mine, now):
    later = now + timedelta(minutes=20)
    save_grade(assignment=mine, checkpoint_id=rubric(mine)[0].checkpoint.pk, now=later, value="pass")
    assert Assignment.objects.get(pk=mine.pk).lease_until == later + LEASE


@pytest.mark.parametrize("change", [{"value": "great"}, {"comment": "x" * 2001}])
def test_a_bad_grade_or_an_overlong_comment_is_refused_and_nothing_is_stored(mine, now, change):
    with pytest.raises(ValueError, match=r"no grade|2001 characters"):
        save_grade(assignment=mine, checkpoint_id=rubric(mine)[0].checkpoint.pk, now=now, **change)
    assert not DraftGrade.objects.exists()


def test_a_checkpoint_of_another_task_cannot_be_graded(mine, now):
    other = Checkpoint.objects.exclude(task=mine.trajectory.unit.task).first()
    with pytest.raises(Checkpoint.DoesNotExist):
        save_grade(assignment=mine, checkpoint_id=other.pk, now=now, value="pass")


def test_a_submit_with_open_checkpoints_names_them_and_commits_nothing(mine, now):
    lines = rubric(mine)
    save_grade(assignment=mine, checkpoint_id=lines[0].checkpoint.pk, now=now, value="pass")
    before = Verdict.objects.count()
    with pytest.raises(OpenCheckpoints) as caught:
        submit(assignment=mine, now=now)
    assert caught.value.positions == tuple(line.number for line in lines[1:])
    assert Verdict.objects.count() == before
    assert Assignment.objects.get(pk=mine.pk).committed_at is None


def test_a_submit_turns_drafts_into_verdicts_of_the_rater(mine, now):
    grade_all(mine, now)
    save_comments(assignment=mine, comments={rubric(mine)[0].checkpoint.pk: "Clear."}, now=now)
    submit(assignment=mine, now=now)
    rows = list(Verdict.objects.filter(source="human").order_by("checkpoint__position"))
    assert [row.value for row in rows] == ["pass"] * len(rubric(mine))
    assert {(row.name, row.rater.username, row.rubric_version) for row in rows} == {("ann", "ann", "1")}
    assert rows[0].rationale == "Clear."
    assert Assignment.objects.get(pk=mine.pk).committed_at == now


def test_a_second_submit_changes_nothing(mine, now):
    grade_all(mine, now)
    submit(assignment=mine, now=now)
    before = Verdict.objects.count()
    with pytest.raises(AlreadySubmitted):
        submit(assignment=mine, now=now)
    assert Verdict.objects.count() == before


def test_a_draft_outlives_a_lost_place_but_cannot_be_submitted(make_batch, cast, now):
    make_batch(size=1, raters=1)
    mine = take_next(rater_id=cast["ann"].pk, now=now)
    grade_all(mine, now)
    later = now + LEASE + timedelta(seconds=1)
    take_next(rater_id=cast["ben"].pk, now=later)
    first = rubric(mine)[0].checkpoint.pk
    assert save_grade(assignment=mine, checkpoint_id=first, now=later, value="fail") is False
    assert rubric(mine)[0].value == "fail"
    with pytest.raises(PlaceTaken):
        submit(assignment=mine, now=later)


def test_two_raters_who_disagree_open_an_adjudication_and_drop_the_cached_results(make_batch, cast, run, now):
    make_batch(size=1, raters=2)
    results_of(run)
    for name, value in (("ann", "pass"), ("ben", "fail")):
        assignment = take_next(rater_id=cast[name].pk, now=now)
        grade_all(assignment, now, value)
        submit(assignment=assignment, now=now)
    scores = CheckpointScore.objects.filter(trajectory=assignment.trajectory)
    assert all(score.needs_adjudication for score in scores)
    assert scores[0].adjudication_reason == "raters disagree: 1 pass, 1 fail"
    assert Run.objects.get(pk=run.pk).results is None
