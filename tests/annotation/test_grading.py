import json
import threading
from datetime import timedelta

import pytest
from django.db import connection

from annotation.batches import Choice, create_batch
from annotation.grading import GradedElsewhere, OpenCheckpoints, PlaceTaken, rubric, save_grade, submit
from annotation.models import Assignment, DraftGrade
from annotation.queue import LEASE, AlreadySubmitted, take_next
from bench.exports import export_results
from bench.models import Checkpoint, CheckpointScore, Run, Verdict
from bench.results.kept import kept
from bench.results.report import results_of
from tests.annotation.factories import grade as give
from tests.annotation.factories import make_cast, make_run


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
    submit(assignment=mine, now=now, comments={rubric(mine)[0].checkpoint.pk: "Clear."})
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
    assert save_grade(assignment=mine, checkpoint_id=first, now=later, value="fail").holds is False
    assert rubric(mine)[0].value == "fail"
    with pytest.raises(PlaceTaken):
        submit(assignment=mine, now=later)


def test_what_was_typed_is_kept_where_a_submit_is_refused(mine, now):
    first = rubric(mine)[0].checkpoint.pk
    with pytest.raises(OpenCheckpoints):
        submit(assignment=mine, now=now, comments={first: "For three."}, anchors={first: "request"})
    assert (rubric(mine)[0].comment, rubric(mine)[0].anchor) == ("For three.", "request")
    with pytest.raises(ValueError, match="has no part"):
        submit(assignment=mine, now=now, comments={first: "For four."}, anchors={first: "step:9"})
    assert rubric(mine)[0].comment == "For three."


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
    assert kept(Run.objects.get(pk=run.pk), "results") is None


def test_what_a_comment_points_at_is_kept_with_the_draft_and_with_the_verdict(mine, now):
    first = rubric(mine)[0].checkpoint.pk
    save_grade(assignment=mine, checkpoint_id=first, now=now, value="fail", comment="For three.", anchor="request")
    assert rubric(mine)[0].anchor == "request"
    grade_all(mine, now)
    submit(assignment=mine, now=now)
    assert list(Verdict.objects.filter(source="human").order_by("pk").values_list("anchor", flat=True))[:2] == [
        "request",
        "",
    ]


@pytest.mark.parametrize("anchor", ["step:1", "sentence:99", "event:1", "request\0", "x" * 5000])
def test_a_part_that_the_trajectory_does_not_have_is_refused_and_nothing_is_stored(mine, now, anchor):
    with pytest.raises(ValueError, match="has no part"):
        save_grade(assignment=mine, checkpoint_id=rubric(mine)[0].checkpoint.pk, now=now, value="pass", anchor=anchor)
    assert not DraftGrade.objects.exists()


def test_an_anchor_can_be_taken_back(mine, now):
    first = rubric(mine)[0].checkpoint.pk
    save_grade(assignment=mine, checkpoint_id=first, now=now, anchor="request")
    save_grade(assignment=mine, checkpoint_id=first, now=now, anchor="")
    assert rubric(mine)[0].anchor == ""


def test_a_submit_of_a_page_that_shows_other_grades_is_refused_with_their_numbers(mine, now):
    grade_all(mine, now)
    second = rubric(mine)[1].checkpoint.pk
    with pytest.raises(GradedElsewhere, match="checkpoint 2 was graded anew in another tab"):
        submit(assignment=mine, now=now, shown={second: "fail"})
    assert not Verdict.objects.filter(source="human").exists()
    submit(assignment=mine, now=now, shown={second: "pass"})


@pytest.mark.django_db(transaction=True)
def test_two_raters_who_submit_at_the_same_moment_are_both_counted(now):
    """The later score must see the earlier verdicts: one says pass, one fail, so every checkpoint is disputed."""
    cast = make_cast()
    run = make_run(personas=1, methods=("iba",))
    create_batch(run=run, choice=Choice.DOMAIN, domain="dining", size=1, raters_wanted=2, created_by=cast["ada"])
    assignments = {}
    for name, value in (("ann", "pass"), ("ben", "fail")):
        assignments[name] = take_next(rater_id=cast[name].pk, now=now)
        grade_all(assignments[name], now, value)
    gate = threading.Barrier(2)

    def hand_in(name):
        gate.wait()
        submit(assignment=assignments[name], now=now)
        connection.close()

    threads = [threading.Thread(target=hand_in, args=[name]) for name in assignments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    scores = CheckpointScore.objects.filter(trajectory=assignments["ann"].trajectory)
    assert {score.needs_adjudication for score in scores} == {True}


@pytest.mark.django_db(transaction=True)
def test_a_double_click_on_submit_writes_every_verdict_once(now):
    cast = make_cast()
    run = make_run(personas=1, methods=("iba",))
    create_batch(run=run, choice=Choice.DOMAIN, domain="dining", size=1, raters_wanted=2, created_by=cast["ada"])
    mine = take_next(rater_id=cast["ann"].pk, now=now)
    grade_all(mine, now)
    gate = threading.Barrier(2)
    outcomes = []

    def click():
        gate.wait()
        try:
            submit(assignment=mine, now=now)
            outcomes.append("submitted")
        except AlreadySubmitted:
            outcomes.append("was submitted")
        connection.close()

    threads = [threading.Thread(target=click) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["submitted", "was submitted"]
    assert Verdict.objects.filter(source="human").count() == len(rubric(mine))


def test_the_export_of_verdicts_says_what_a_comment_points_at(meal, run, cast, tmp_path):
    give(meal, cast["ann"], {0: "fail"}, anchor="sentence:2")
    export_results(run, tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "verdicts.jsonl").read_text().splitlines()]
    assert [row["anchor"] for row in rows if row["source"] == "human"] == ["sentence:2"]
    assert {row["anchor"] for row in rows if row["source"] != "human"} == {""}
