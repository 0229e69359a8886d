"""A domain narrowed to a split, and over-application from the number down to its trajectories."""

from __future__ import annotations

import pytest
from pytest_django.asserts import assertContains, assertNotContains

from bench.grading.store import score_trajectories
from bench.models import Checkpoint, CheckpointScore, Event, EventLabel, Persona, Run, Trajectory
from tests.pages.acting import grade


def move_one_persona_to_dev() -> None:
    Persona.objects.filter(pk=Persona.objects.order_by("pk").first().pk).update(split="dev")


def test_a_domain_page_narrows_to_a_split(viewer, finished):
    move_one_persona_to_dev()
    lost = CheckpointScore.objects.filter(trajectory__unit__task__persona__split="dev", checkpoint__kind="preference")
    lost.update(combined="fail", gap="no_constraint")
    # one dinner a persona: one persona in dev, two in test
    for split, tasks, passed in (("", 3, 2), ("dev", 1, 0), ("test", 2, 2), ("nonsense", 3, 2)):
        page = viewer.get("/domains/dining/", {"run": finished.pk, "split": split})
        here = {cell["method"]: measures for cell, measures, _ in page.context["here"]}
        assert (here["iba"]["task_success"]["n"], here["iba"]["task_success"]["mean"]) == (tasks, passed / tasks)
        scenario = page.context["scenarios"][0]["values"][0]
        assert (scenario["n"], scenario["mean"]) == (tasks, passed / tasks)
        assert sum(row["values"][0]["n"] for row in page.context["dimensions"]) == 2 * tasks


def test_the_split_stays_on_the_way_to_other_domains_and_to_the_trajectories(viewer, finished):
    move_one_persona_to_dev()
    page = viewer.get("/domains/dining/", {"run": finished.pk, "split": "dev"})
    assertContains(page, f"/domains/travel/?run={finished.pk}&amp;split=dev")
    assertContains(page, f"/trajectories/?run={finished.pk}&amp;split=dev&amp;method=iba&amp;domain=dining")
    listed = viewer.get("/trajectories/", {"run": finished.pk, "split": "dev", "method": "iba", "domain": "dining"})
    assert listed.context["page_obj"].paginator.count == 1


def test_a_split_without_tasks_says_so_and_keeps_the_selector(viewer, finished):
    page = viewer.get("/domains/dining/", {"run": finished.pk, "split": "dev"})
    assertContains(page, "No task of this run is in the dev split.")
    assertContains(page, 'name="split"')


@pytest.fixture
def misled(finished) -> Trajectory:
    """One dinner of iba: its first preference failed, and its constraint cites an event that shows none."""
    trajectory = Trajectory.objects.filter(unit__method="iba", unit__task__scenario__slug="plan_meal").first()
    score = trajectory.scores.filter(checkpoint__kind="preference").order_by("checkpoint__position").first()
    data = trajectory.data
    event = Event.objects.filter(persona=trajectory.unit.task.persona).exclude(pk__in=score.checkpoint.evidence.all())
    distractor = event.first()
    EventLabel.objects.update_or_create(
        event=distractor, defaults={"role": "distractor", "dimension": score.checkpoint.dimension}
    )
    gold = {str(event.pk) for event in score.checkpoint.evidence.all()}
    for constraint in data["constraints"]:
        if gold & set(constraint["evidence"]):
            constraint |= {"value": "another", "evidence": [str(distractor.pk)]}
    data["plan"] = [constraint["constraint_id"] for constraint in data["constraints"]]
    Trajectory.objects.filter(pk=trajectory.pk).update(data=data, over_applied=1)
    fail(trajectory, score.checkpoint)
    return trajectory


def fail(trajectory: Trajectory, checkpoint: Checkpoint) -> None:
    grade(trajectory, checkpoint, "fail", "it is another")
    score_trajectories([trajectory.pk])


def test_over_application_shows_in_the_funnel_and_leads_to_its_trajectories(viewer, finished, misled):
    page = viewer.get("/compare/", {"run": finished.pk, "a": "iba", "b": "rag"})
    assert page.context["funnels"][0]["over_applied"] == 1
    assert {row["stage"]: row["lost"] for row in page.context["funnels"][0]["stages"]}["resolved"] == 1
    assertContains(page, "1 applied what does not hold here")
    listed = viewer.get("/trajectories/", {"run": finished.pk, "method": "iba", "gap": "over_applied"})
    assert [one.pk for one in listed.context["page_obj"]] == [misled.pk]


def test_the_number_of_over_applied_constraints_leads_to_its_trajectories(viewer, finished, misled):
    page = viewer.get(f"/runs/{finished.pk}/")
    assertContains(page, f"/trajectories/?run={finished.pk}&amp;method=iba&amp;over=1")
    assertNotContains(page, f"/trajectories/?run={finished.pk}&amp;method=rag&amp;over=1")
    listed = viewer.get("/trajectories/", {"run": finished.pk, "method": "iba", "over": "1"})
    assert [one.pk for one in listed.context["page_obj"]] == [misled.pk]
    assertContains(listed, "acted on what does not hold")


def test_over_applied_checkpoints_have_a_row_of_their_own_on_the_dashboard(viewer, finished, misled):
    rows = {row["stage"]: row for row in viewer.get("/", {"run": finished.pk}).context["gaps"][""]}
    lost = {cell["method"]: cell["share"] for cell in rows["over_applied"]["cells"]}
    assert (lost["iba"]["count"], lost["iba"]["n"], lost["rag"]) == (1, 1, None)
    assert Run.objects.get(pk=finished.pk).results is not None
