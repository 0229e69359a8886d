import pytest

from annotation.batches import Choice, NothingToGrade, create_batch, own_counts, progress
from bench.models import Trajectory
from tests.annotation import factories
from tests.annotation.factories import judge


def _create(run, cast, **changes):
    given = {"choice": Choice.DOMAIN, "domain": "dining", "size": 99, "raters_wanted": 2, "created_by": cast["ada"]}
    return create_batch(run=run, **{**given, **changes})


def test_a_batch_of_a_domain_holds_all_its_trajectories(run, cast):
    assert _create(run, cast).trajectories.count() == 8  # 2 personas x 2 tasks x 2 methods


def test_a_second_batch_takes_only_what_is_left(run, cast):
    first = _create(run, cast, size=5)
    second = _create(run, cast, size=5)
    assert (first.trajectories.count(), second.trajectories.count()) == (5, 3)
    assert not set(first.trajectories.all()) & set(second.trajectories.all())


def test_the_audit_batch_holds_the_slice_and_nothing_else(run, cast, meal):
    Trajectory.objects.filter(pk=meal.pk).update(audit=True)
    assert list(_create(run, cast, choice=Choice.AUDIT, domain="").trajectories.all()) == [meal]


def test_an_escalated_trajectory_of_the_audit_slice_waits_for_the_audit_batch(run, cast):
    audited, other = Trajectory.objects.filter(unit__task__slug="meal")[:2]
    for trajectory in (audited, other):
        judge(trajectory, {"judge-north": "fail"}, position=1)
    Trajectory.objects.filter(pk=audited.pk).update(audit=True)
    assert list(_create(run, cast, choice=Choice.ESCALATED, domain="").trajectories.all()) == [other]


def test_a_trajectory_that_ended_for_the_infrastructure_is_not_graded(run, cast, meal):
    Trajectory.objects.filter(pk=meal.pk).update(infrastructure=True)
    assert meal not in _create(run, cast).trajectories.all()


def test_an_empty_choice_says_what_to_do(run, cast):
    with pytest.raises(NothingToGrade, match=r"no audit trajectories .* Choose another group"):
        _create(run, cast, choice=Choice.AUDIT, domain="")


@pytest.mark.parametrize("changes", [{"size": 0}, {"raters_wanted": 0}, {"domain": ""}])
def test_nonsense_makes_no_batch(run, cast, changes):
    with pytest.raises(ValueError, match=r"must be 1 or more|needs the domain"):
        _create(run, cast, **changes)


def test_the_draw_mixes_methods(run, cast):
    batch = _create(run, cast, size=4)
    assert len({t.unit.method for t in batch.trajectories.all()}) == 2


def test_progress_counts_gradings_of_all_raters(run, cast, now):
    batch = _create(run, cast, size=2)
    first = batch.trajectories.first()
    for name in ("ann", "ben"):
        factories.seat(batch, first, cast[name], until=now, committed=now if name == "ann" else None)
    (row,) = progress()
    assert (row.trajectories, row.committed, row.wanted) == (2, 1, 4)
    assert [(c.mine, c.size) for c in own_counts(rater_id=cast["ann"].pk)] == [(1, 2)]
    assert [(c.mine, c.size) for c in own_counts(rater_id=cast["ben"].pk)] == [(0, 2)]
