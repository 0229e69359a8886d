"""What the page of a run says once the run is over, and that pages read what scoring kept."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from bench.access import Role, role_of
from bench.grading.store import append_verdicts, rubric_version, score_trajectories
from bench.models import CheckpointScore, Persona, Run, Trajectory, Verdict
from bench.results.agreement_report import agreement_of
from bench.results.kept import kept
from bench.results.report import compute, results_of
from bench.runs.launch import plan_run, start
from bench.runs.spec import RunSpec
from tests.pages.acting import act_out
from tests.pages.conftest import JUDGES, finish, make_endpoints


def grade_all(trajectory: Trajectory, value: str) -> None:
    """Two raters give every checkpoint that value."""
    raters = [User.objects.get_or_create(username=name)[0] for name in ("ann", "ben")]
    append_verdicts(
        [
            Verdict(
                trajectory=trajectory, checkpoint=checkpoint, rubric_version=rubric_version(),
                source="human", name=rater.username, rater=rater, value=value,
            )
            for checkpoint in trajectory.unit.task.checkpoints.all()
            for rater in raters
        ]
    )  # fmt: skip
    score_trajectories([trajectory.pk])


def page_of(client, run, **asked):
    return client.get(reverse("run-detail", args=[run.pk]), asked)


def move_one_persona_to_dev() -> None:
    Persona.objects.filter(pk=Persona.objects.order_by("pk").first().pk).update(split="dev")


@pytest.mark.parametrize("path", ["run", "dashboard"])
def test_a_split_narrows_the_results_to_its_personas(path, viewer, finished):
    move_one_persona_to_dev()
    address = reverse("run-detail", args=[finished.pk]) if path == "run" else "/"
    # 3 personas with 2 tasks each: one in dev, two in test
    for split, planned in (("", 6), ("dev", 2), ("test", 4), ("nonsense", 6)):
        cells = viewer.get(address, {"split": split, "run": finished.pk}).context["cells"]
        assert [cell["planned"] for cell in cells] == [planned, planned]


def test_independence_is_measured_within_the_split(finished):
    move_one_persona_to_dev()
    lost = Trajectory.objects.filter(unit__method="iba", unit__task__persona__split="test")
    CheckpointScore.objects.filter(trajectory__in=lost).update(combined="fail")
    # iba passes all in dev and nothing in test
    assert compute(finished, split="dev")["cells"][0]["expected_if_independent"]["mean"] == 1
    assert compute(finished, split="test")["cells"][0]["expected_if_independent"]["mean"] == 0


@pytest.mark.parametrize("path", ["run", "dashboard"])
def test_a_split_without_tasks_says_so_and_keeps_the_selector(path, viewer, finished):
    address = reverse("run-detail", args=[finished.pk]) if path == "run" else "/"
    page = viewer.get(address, {"split": "dev"})
    assertContains(page, "No task of this run is in the dev split.")
    assertContains(page, "split=" if path == "run" else 'name="split"')


def test_the_links_of_view_and_split_keep_each_other(viewer, finished):
    page = page_of(viewer, finished, view="ai", split="test")
    assertContains(page, "?view=human&amp;split=test")
    assertContains(page, "<b>AI only</b>")
    assertContains(page, "?view=ai&amp;split=dev")
    assertContains(page, 'href="?view=ai"')


def test_the_three_views_stand_side_by_side_with_their_denominators(viewer, finished):
    for trajectory in Trajectory.objects.filter(unit__method="iba"):
        grade_all(trajectory, "fail")
    rows = {row["name"]: row for row in page_of(viewer, finished).context["sides"]}
    # judges and rules pass all 6 of iba, raters none of them, and agreement of raters outranks the machine
    assert [(s["task_success"]["mean"], s["evaluated"]) for s in rows["iba"]["sides"]] == [(1, 6), (0, 6), (0, 6)]
    assert [(s["evaluated"], s["planned"]) for s in rows["rag"]["sides"]] == [(6, 6), (0, 6), (6, 6)]


def test_a_view_under_95_percent_shows_a_dash_with_its_reason(viewer, finished):
    assertContains(page_of(viewer, finished), "evaluated 0 of 6 (0%); no headline below 95%")


def test_without_grades_the_audit_slice_is_said_to_be_open(viewer, finished):
    assertContains(page_of(viewer, finished), "Nobody has graded the audit slice yet")


def test_grades_of_the_audit_slice_estimate_what_humans_would_say(viewer, finished):
    audited = Trajectory.objects.filter(unit__method="iba").order_by("pk")[:2]
    Trajectory.objects.filter(pk__in=[t.pk for t in audited]).update(audit=True)
    for trajectory in audited:
        grade_all(trajectory, "pass")
    page = page_of(viewer, finished)
    assertContains(page, "2 of 2 audit trajectories decided")
    assertContains(page, "nobody has graded the audit slice of this method yet")  # rag
    assertNotContains(page, "Nobody has graded the audit slice yet")


def test_observed_success_stands_beside_that_under_independence(viewer, finished):
    CheckpointScore.objects.filter(trajectory__unit__method="iba", checkpoint__kind="task").filter(
        trajectory__in=Trajectory.objects.filter(unit__method="iba").order_by("pk")[:3]
    ).update(combined="fail")
    cells = {cell["method"]: cell for cell in page_of(viewer, finished).context["cells"]}
    # one task checkpoint a task, 3 of 6 pass; preferences all pass: 0.5^1 * 1^2
    assert cells["iba"]["expected_if_independent"]["mean"] == 0.5
    assertContains(page_of(viewer, finished), "If independent")


def test_over_applied_constraints_a_task_are_a_mean_or_a_dash_with_its_reason(viewer, finished):
    acted = Trajectory.objects.filter(unit__method="iba").order_by("pk")
    for over, trajectory in enumerate(acted[:3]):
        Trajectory.objects.filter(pk=trajectory.pk).update(over_applied=over)
    page = page_of(viewer, finished)
    # 0, 1 and 2 over the three that kept constraints
    assert {c["method"]: c["over_applied"]["mean"] for c in page.context["cells"]} == {"iba": 1.0, "rag": None}
    assertContains(page, "no trajectory of this method kept constraints")


def repeated(dataset) -> Run:
    make_endpoints()
    wish = {"dataset": dataset.name, "methods": ["iba", "rag"], "model": "qwen", "judges": list(JUDGES)}
    return start(plan_run(RunSpec(**wish, repeats=2)))


def test_repeats_show_their_numbers_and_the_formula(viewer, dataset):
    run = repeated(dataset)
    for unit in run.units.select_related("task__scenario", "run"):
        act_out(unit, failed_task=unit.method == "iba" and unit.repeat == 1)
    Run.objects.update(status="done")
    page = page_of(viewer, run)
    found = {cell["method"]: cell["repeats"] for cell in page.context["cells"]}["iba"]
    # one of two trials passes in every task
    assert [found[name]["mean"] for name in ("mean_at_k", "pass_at_k", "pass_hat_k")] == [0.5, 1, 0]
    assertContains(page, "pass^k, all k pass: C(c, k) / C(n, k)")


def test_repeats_are_withheld_with_the_reason_where_trials_are_missing(viewer, dataset):
    run = repeated(dataset)
    for unit in run.units.select_related("task__scenario", "run"):
        if (unit.method, unit.repeat) != ("rag", 1):
            act_out(unit)
    Run.objects.update(status="cancelled")
    assertContains(page_of(viewer, run), "6 of 6 tasks have fewer than 2 scored trials")


def test_a_single_trial_has_no_table_of_repeats(viewer, finished):
    assertNotContains(page_of(viewer, finished), "mean@")


def test_the_comparison_counts_no_scores_once_results_are_kept(viewer, finished, django_assert_num_queries):
    asked = {"run": finished.pk, "a": "iba", "b": "rag"}
    first = viewer.get("/compare/", asked)
    # session, user, groups, runs, the run, whether something has changed, names of domains
    with django_assert_num_queries(7) as counted:
        second = viewer.get("/compare/", {**asked, "conflict": "drift"})
    assert not [q for q in counted.captured_queries if "checkpointscore" in q["sql"] or "bench_unit" in q["sql"]]
    assert first.context["paired"] == second.context["paired"]


def test_the_kept_difference_turns_with_the_order_of_the_methods(viewer, finished):
    one = viewer.get("/compare/", {"run": finished.pk, "a": "iba", "b": "rag"}).context["paired"]
    other = viewer.get("/compare/", {"run": finished.pk, "a": "rag", "b": "iba"}).context["paired"]
    assert [row["difference"] for row in one["domains"]] == [1, 1]
    assert [row["difference"] for row in other["domains"]] == [-1, -1]
    assert [row["domain"] for row in one["domains"]] == ["dining", "travel"]
    assert one["common"] == other["common"] == 6


def test_two_runs_of_one_method_are_paired_over_their_units(viewer, finished, dataset):
    make_endpoints()
    other = start(plan_run(RunSpec(dataset=dataset.name, methods=["rag"], model="qwen", judges=list(JUDGES))))
    for unit in other.units.select_related("task__scenario", "run"):
        act_out(unit)
    Run.objects.filter(pk=other.pk).update(status="done")
    page = viewer.get("/compare/", {"run": finished.pk, "a": "rag", "with": other.pk, "b": "rag"})
    success = next(row["pair"] for row in page.context["paired"]["metrics"] if row["metric"] == "task_success")
    # rag lost all 6 in the first run and none in the second
    assert (success["a"], success["b"], success["difference"], success["n"]) == ("rag", "rag", -1, 6)


def test_agreement_is_kept_until_a_verdict_changes(viewer, finished, django_assert_num_queries):
    viewer.get("/agreement/", {"run": finished.pk})
    read = Run.objects.get(pk=finished.pk)
    with django_assert_num_queries(1):  # whether something has changed
        assert agreement_of(read) == kept(read, "agreement")
    grade_all(Trajectory.objects.first(), "pass")
    renewed = Run.objects.get(pk=finished.pk)
    assert kept(renewed, "agreement") is None
    assert {row["kind"] for row in agreement_of(renewed)["pairs"]} >= {"human-human"}


def test_kept_results_do_not_carry_the_agreement(finished):
    agreement_of(finished)
    assert "agreement" not in results_of(finished)


def test_a_role_is_read_once_for_a_user_object(viewer, django_assert_num_queries):
    user = User.objects.get(username="viewer-person")
    with django_assert_num_queries(1):
        assert [role_of(user), role_of(user)] == [Role.VIEWER, Role.VIEWER]
    user.groups.set([Group.objects.get(name="admin")])
    assert role_of(User.objects.get(pk=user.pk)) is Role.ADMIN


def test_the_pages_of_a_running_run_show_no_results(viewer, running):
    assertNotContains(page_of(viewer, running), "Task success by who grades")
    finish(running)
    assertContains(page_of(viewer, running), "Task success by who grades")
