import pytest

from annotation.grading import rubric, save_grade, submit
from annotation.queue import take_next
from annotation.reveal import NotYet, compared
from annotation.verdicts import latest
from tests.annotation.factories import PANEL, judge


def _submitted(rater, now, value="pass"):
    assignment = take_next(rater_id=rater.pk, now=now)
    for line in rubric(assignment):
        save_grade(assignment=assignment, checkpoint_id=line.checkpoint.pk, now=now, value=value)
    submit(assignment=assignment, now=now)
    assignment.refresh_from_db()
    return assignment


def test_nothing_is_revealed_before_the_submit(make_batch, cast, now):
    make_batch()
    with pytest.raises(NotYet):
        compared(take_next(rater_id=cast["ann"].pk, now=now))


def test_the_reveal_counts_other_raters_and_shows_rule_and_judges(make_batch, cast, now):
    make_batch(size=1, raters=2)
    mine = _submitted(cast["ann"], now)
    assert {line.others for line in compared(mine)} == {0}
    _submitted(cast["ben"], now, "fail")
    for line in compared(mine):
        assert line.others == 1
        assert line.mine.value == "pass"
        assert {row.source for row in line.machines} == ({"rule"} if line.checkpoint.rule else {"judge"})


def test_an_unscored_reply_does_not_hide_an_earlier_verdict(meal):
    judge(meal, {PANEL[0]: ""})
    for rows in latest(trajectory_id=meal.pk, rubric_version="1").values():
        assert {row.name: row.value for row in rows} == dict.fromkeys(PANEL, "pass")
