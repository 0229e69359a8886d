"""Where two methods lose what they knew, and the trajectories behind the numbers."""

from __future__ import annotations

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from bench.models import Run, Trajectory
from tests.pages.acting import act_out
from tests.pages.conftest import HOSTILE, finish, make_dataset, make_run, trajectory_of


def test_the_funnel_loses_checkpoints_where_the_trace_says_so(viewer, finished):
    page = viewer.get("/compare/", {"run": finished.pk, "a": "iba", "b": "rag"})
    iba, rag = page.context["funnels"]
    # 6 tasks x 2 preference checkpoints; rag loses one in each task at retrieval
    assert [row["kept"] for row in iba["stages"]] == [12, 12, 12, 12, 12, 12]
    assert [row["kept"] for row in rag["stages"]] == [6, 6, 6, 6, 6, 6]
    assert rag["stages"][0]["lost"] == 6


@pytest.mark.parametrize("stage", ["no_constraint", "resolved_wrongly", "not_in_plan", "not_in_action"])
def test_each_planted_loss_appears_at_its_stage(stage, viewer, running):
    for unit in running.units.select_related("task__scenario", "run"):
        act_out(unit, {1: stage} if unit.method == "iba" else {})
    Run.objects.update(status="done")
    page = viewer.get("/compare/", {"run": running.pk, "a": "iba", "b": "rag"})
    lost = {row["lost_at"]: row["lost"] for row in page.context["funnels"][0]["stages"] if row["lost"]}
    assert {name for names in lost for name in names.split(",")} >= {stage}
    assert sum(lost.values()) == 6


def test_the_funnel_narrows_to_a_kind_of_conflict(viewer, finished):
    narrowed = {"run": finished.pk, "a": "iba", "b": "rag", "conflict": "drift", "domain": "dining"}
    page = viewer.get("/compare/", narrowed)
    assert [funnel["start"] for funnel in page.context["funnels"]] == [3, 3]


def test_the_comparison_shows_both_methods_by_tier_and_narrows_its_funnel_to_one(viewer, finished):
    """Of each task one checkpoint is combined and one direct, 6 each; rag loses the direct ones."""
    page = viewer.get("/compare/", {"run": finished.pk, "a": "iba", "b": "rag", "tier": "direct"})
    rates = {row["slug"]: (row["a"]["mean"], row["b"]["mean"], row["b"]["n"]) for row in page.context["tiers"]}
    assert rates == {"direct": (1.0, 0.0, 6), "combined": (1.0, 1.0, 6)}
    assert list(rates) == ["direct", "combined"]
    assert [funnel["start"] for funnel in page.context["funnels"]] == [6, 6]
    assertContains(page, "after each stage, direct only")
    assertContains(page, "tier=combined")
    lost = viewer.get("/trajectories/", {"run": finished.pk, "gap": "not_retrieved", "tier": "direct"})
    assert lost.context["page_obj"].paginator.count == 6
    none = viewer.get("/trajectories/", {"run": finished.pk, "gap": "not_retrieved", "tier": "combined"})
    assert none.context["page_obj"].paginator.count == 0


def test_a_trajectory_says_which_checkpoints_no_single_event_settles(viewer, finished):
    page = viewer.get(f"/trajectories/{trajectory_of(finished, 'iba').pk}/")
    assertContains(page, "several events together settle it, none alone", count=1)


def test_runs_of_different_data_versions_are_refused(viewer, finished):
    other = finish(make_run(make_dataset("other", "b")))
    page = viewer.get("/compare/", {"run": finished.pk, "with": other.pk})
    assertContains(page, "Scores of different data versions are not comparable")
    assertNotContains(page, "From knowledge to action")


def test_a_simulated_run_is_not_compared_with_a_real_one(viewer, finished, dataset):
    simulated = finish(make_run(dataset), simulated=True)
    page = viewer.get("/compare/", {"run": finished.pk, "with": simulated.pk})
    assertContains(page, "Simulated results are never ranked with real ones")


def test_the_comparison_says_so_where_nothing_is_distinguishable(viewer, running):
    for unit in running.units.select_related("task__scenario", "run"):
        act_out(unit)
    Run.objects.update(status="done")
    assertContains(viewer.get("/compare/", {"run": running.pk}), "not distinguishable")


def test_a_trajectory_shows_where_a_checkpoint_was_lost_and_the_gold_evidence(viewer, finished):
    page = viewer.get(reverse("trajectory", args=[trajectory_of(finished, "rag").pk]))
    assertContains(page, "lost at:")
    assertContains(page, "not retrieved")
    assertContains(page, "6 Jan 2025")


def test_an_argument_leads_to_its_constraint_and_the_events_behind_it(viewer, finished):
    page = viewer.get(reverse("trajectory", args=[trajectory_of(finished, "iba").pk]))
    assertContains(page, 'href="#c-c1"')
    assertContains(page, 'id="c-c1"')
    assertContains(page, "because of 2 constraints")


def test_a_sentence_leads_to_its_constraint(viewer, finished):
    page = viewer.get(reverse("trajectory", args=[trajectory_of(finished, "iba", "generate").pk]))
    parts = {part.name: len(part.reasons) for part in page.context["because"]}
    assert parts == {"1": 0, "2": 2, "3": 0}


def test_failed_trajectories_of_the_method_are_linked_in_order(viewer, finished):
    failed = list(Trajectory.objects.filter(unit__method="rag").order_by("pk").values_list("pk", flat=True))
    page = viewer.get(reverse("trajectory", args=[failed[1]]))
    assert (page.context["before"], page.context["after"]) == (failed[0], failed[2])


@pytest.mark.parametrize("kind", ["call_api", "generate"])
def test_hostile_text_is_never_markup(kind, viewer, finished):
    shown = reverse("trajectory", args=[trajectory_of(finished, "iba", kind).pk])
    for path in (shown, "/trajectories/", "/search/?q=Friday"):
        page = viewer.get(path)
        assertNotContains(page, HOSTILE)
        assertContains(page, "&lt;script&gt;")


def test_the_page_of_a_trajectory_takes_a_fixed_number_of_queries(viewer, finished, django_assert_max_num_queries):
    with django_assert_max_num_queries(13):
        viewer.get(reverse("trajectory", args=[trajectory_of(finished, "rag").pk]))


def test_trajectories_can_be_narrowed_to_a_lost_stage(viewer, finished):
    page = viewer.get("/trajectories/", {"run": finished.pk, "gap": "not_retrieved,no_constraint"})
    assert {t.unit.method for t in page.context["page_obj"]} == {"rag"}
    passed = viewer.get("/trajectories/", {"run": finished.pk, "outcome": "pass"})
    assert passed.context["page_obj"].paginator.count == 6
    assert viewer.get("/trajectories/", {"run": "no number"}).status_code == 404
