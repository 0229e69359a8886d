import pytest

from annotation.adjudication import AlreadySettled, find_case, next_case, settle
from bench.models import CheckpointScore, Verdict
from bench.results.report import results_of
from tests.annotation.factories import grade


@pytest.fixture
def dispute(meal, cast):
    """Two raters disagree on both checkpoints of one trajectory."""
    grade(meal, cast["ann"], {0: "pass", 1: "pass"})
    grade(meal, cast["ben"], {0: "fail", 1: "fail"})
    return meal


def _ids(trajectory, position):
    return {"trajectory_id": trajectory.pk, "checkpoint_id": trajectory.unit.task.checkpoints.get(position=position).pk}


def test_a_case_shows_raters_by_letter_and_judges_by_number(dispute, cast):
    case = find_case(**_ids(dispute, 1), adjudicator_id=cast["otto"].pk)
    assert [column.label for column in case.raters] == ["A", "B"]
    assert [column.label for column in case.machines] == ["J1", "J2", "J3"]
    assert not case.graded_by_me


def test_a_rater_who_adjudicates_is_told_so(dispute, cast):
    assert find_case(**_ids(dispute, 1), adjudicator_id=cast["ann"].pk).graded_by_me


@pytest.mark.parametrize(
    ("value", "reason", "words"),
    [("pass", "  ", "short reason"), ("", "because", "Choose pass"), ("great", "because", "Choose pass"),
     ("pass", "x" * 501, "501 characters")],
)  # fmt: skip
def test_a_decision_needs_a_value_and_a_short_reason(dispute, cast, value, reason, words):
    with pytest.raises(ValueError, match=words):
        settle(**_ids(dispute, 1), adjudicator=cast["otto"], value=value, reason=reason)
    assert not Verdict.objects.filter(source="adjudication").exists()


def test_a_decision_settles_the_score_and_changes_the_results(dispute, run, cast):
    """rag and iba have 4 trajectories each; one checkpoint of one of them turns from pass to fail."""
    before = _cell(run, dispute.unit.method)["task_success"]["mean"]
    settle(**_ids(dispute, 0), adjudicator=cast["otto"], value="pass", reason="Two courses are named.")
    settle(**_ids(dispute, 1), adjudicator=cast["otto"], value="fail", reason="The lamb is served with crackling.")
    score = CheckpointScore.objects.get(**_ids(dispute, 1))
    assert (score.combined, score.origin, score.needs_adjudication) == ("fail", "adjudication", False)
    assert before == 1.0
    assert _cell(run, dispute.unit.method)["task_success"]["mean"] == 0.75


def _cell(run, method):
    run.refresh_from_db()
    return next(cell for cell in results_of(run)["cells"] if cell["method"] == method)


def test_a_case_is_settled_once(dispute, cast):
    settle(**_ids(dispute, 1), adjudicator=cast["otto"], value="pass", reason="Soft all through.")
    with pytest.raises(AlreadySettled):
        settle(**_ids(dispute, 1), adjudicator=cast["ada"], value="fail", reason="I disagree.")
    assert Verdict.objects.filter(source="adjudication").count() == 1


def test_a_changed_verdict_opens_the_case_again_and_shows_the_earlier_decision(dispute, cast):
    settle(**_ids(dispute, 1), adjudicator=cast["otto"], value="pass", reason="Soft all through.")
    grade(dispute, cast["cleo"], {1: "fail"})
    case = find_case(**_ids(dispute, 1), adjudicator_id=cast["otto"].pk)
    assert case.earlier.rationale == "Soft all through."
    assert case.score.adjudication_reason == "changed since the adjudication: human cleo"


def test_the_next_case_comes_behind_the_one_settled_and_then_from_the_start(dispute, run):
    first, second = CheckpointScore.objects.to_adjudicate()
    assert next_case() == first
    assert next_case(after=(dispute.pk, first.checkpoint.position)) == second
    assert next_case(after=(dispute.pk, second.checkpoint.position)) == first
    assert next_case(run_id=run.pk + 1) is None


def test_a_case_shows_what_each_rater_points_at(dispute, cast):
    grade(dispute, cast["cleo"], {1: "fail"}, anchor="sentence:2")
    case = find_case(**_ids(dispute, 1), adjudicator_id=cast["otto"].pk)
    pointed = [column.anchor for column in case.raters if column.verdict.rater == cast["cleo"]]
    assert pointed[0].text.startswith("For afters")
    assert sum(column.anchor is not None for column in case.raters) == 1


def test_a_decision_on_a_case_that_has_changed_meanwhile_is_refused_until_it_was_looked_at_again(dispute, cast):
    opened = find_case(**_ids(dispute, 1), adjudicator_id=cast["otto"].pk)
    grade(dispute, cast["cleo"], {1: "fail"})
    decision = {"adjudicator": cast["otto"], "value": "fail", "reason": "The lamb is served with crackling."}
    with pytest.raises(ValueError, match="A verdict has come in since"):
        settle(**_ids(dispute, 1), **decision, seen=opened.newest)
    again = find_case(**_ids(dispute, 1), adjudicator_id=cast["otto"].pk)
    assert len(again.raters) == 3
    settle(**_ids(dispute, 1), **decision, seen=again.newest)
    assert CheckpointScore.objects.get(**_ids(dispute, 1)).combined == "fail"
