"""What each page shows to whom, what it refuses, and how many queries it takes."""

from __future__ import annotations

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from bench.models import Dataset, Run, Trajectory
from bench.results.report import results_of
from tests.pages.conftest import finish, make_run, trajectory_of

PAGES = (
    "/",
    "/domains/dining/",
    "/runs/",
    "/compare/",
    "/trajectories/",
    "/datasets/",
    "/datasets/small/",
    "/search/?q=din",
)


@pytest.mark.parametrize("path", PAGES)
def test_a_viewer_opens_every_page_of_results(path, viewer, finished):
    assert viewer.get(path).status_code == 200


@pytest.mark.parametrize("path", [*PAGES, "/runs/new/"])
def test_somebody_without_a_role_is_refused(path, outsider, finished):
    response = outsider.get(path)
    assert response.status_code == 403
    assertContains(response, "not for your role", status_code=403)


@pytest.mark.parametrize("path", [path for path in PAGES if path != "/"])
def test_an_annotator_stays_blind_to_results(path, annotator, finished):
    assert annotator.get(path).status_code == 403


def test_an_annotator_is_sent_from_the_start_page_to_the_queue(annotator):
    assert annotator.get("/")["Location"] == "/annotate/"


@pytest.mark.django_db
@pytest.mark.parametrize("path", PAGES)
def test_a_stranger_is_sent_to_the_sign_in(path, client):
    response = client.get(path)
    assert response.status_code == 302
    assert response["Location"].startswith("/login/?next=")


def test_the_navigation_offers_only_what_the_role_may_open(viewer, finished):
    page = viewer.get("/runs/")
    assertContains(page, '<a href="/compare/">')
    assertNotContains(page, "/adjudicate/")
    assertNotContains(page, 'href="/annotate/"')


def test_only_an_administrator_sees_how_to_launch(viewer, admin, dataset):
    assertNotContains(viewer.get("/runs/"), reverse("run-new"))
    assertContains(admin.get("/runs/"), reverse("run-new"))
    assert viewer.get(reverse("run-new")).status_code == 403
    assert viewer.post(reverse("run-new"), {}).status_code == 403


def test_an_empty_start_page_says_what_to_do(admin, viewer):
    assertContains(admin.get("/"), "Launch a run")
    assertContains(viewer.get("/"), "An administrator has to launch a run first")


# --- start page and domains


def test_the_start_page_shows_both_denominators_and_the_difference(viewer, finished):
    page = viewer.get("/")
    # iba passes all 6 tasks, rag none of its 6; the pair has both
    assertContains(page, '<td class="n den">6 of 6</td>', count=3)
    assertContains(page, "IBA-Agent against RAG")
    assertContains(page, "not retrieved")
    assertNotContains(page, "badge-simulated")


def test_no_headline_below_95_percent_of_coverage(viewer, running):
    run = finish(running)
    Trajectory.objects.filter(unit=run.units.filter(method="iba").first()).first().scores.all().delete()
    Run.objects.update(results=None)
    # 5 of 6 is 83%
    assertContains(viewer.get("/"), "evaluated 5 of 6 (83%); no headline below 95%")


def test_a_simulated_run_is_shown_alone_with_its_badge(viewer, running):
    finish(running, simulated=True)
    page = viewer.get("/")
    assertContains(page, "badge-simulated")
    assertContains(page, "These results are simulated")


def test_a_simulated_run_waits_until_it_is_asked_for_once_there_is_a_real_one(viewer, finished, dataset):
    simulated = finish(make_run(dataset), simulated=True)
    page = viewer.get("/")
    assert page.context["run"] == finished
    assertContains(page, "1 excluded")
    assertNotContains(page, f"run {simulated.pk} · simulated")
    asked = viewer.get("/", {"simulated": "1", "run": simulated.pk})
    assert asked.context["run"] == simulated
    assertContains(asked, "badge-simulated")


def test_the_newest_finished_run_of_a_dataset_is_chosen(viewer, finished, dataset):
    newer = finish(make_run(dataset))
    assert viewer.get("/").context["run"] == newer


def test_a_domain_counts_only_its_own_tasks(viewer, finished):
    page = viewer.get("/domains/dining/")
    assert [row["slug"] for row in page.context["scenarios"]] == ["plan_meal"]
    assert page.context["scenarios"][0]["values"][0]["mean"] == 1.0
    # 3 tasks with one checkpoint a dimension; rag loses all of the second
    assert [row["values"][1]["mean"] for row in page.context["dimensions"]] == [1.0, 0.0]
    assert viewer.get("/domains/nowhere/").status_code == 404


def test_the_start_page_takes_as_many_queries_for_many_runs_as_for_one(
    viewer, finished, dataset, django_assert_num_queries
):
    viewer.get("/")
    with django_assert_num_queries(7):
        viewer.get("/")
    viewer.get("/", {"run": finish(make_run(dataset)).pk})
    with django_assert_num_queries(7):
        viewer.get("/")


# --- datasets


def test_gold_labels_are_shown_to_adjudicators_only(adjudicator, viewer, dataset):
    path = "/datasets/small/personas/small-p0/"
    assertContains(adjudicator.get(path), "goldlabel")
    page = viewer.get(path, {"role": "cue"})
    assertNotContains(page, "goldlabel")
    assertNotContains(page, "Traits")
    # the filter by gold label tells nothing either: all three events are there
    assert page.context["page_obj"].paginator.count == 3


def test_a_dataset_page_shows_version_sha_counts_and_conflicts(viewer, dataset):
    page = viewer.get("/datasets/small/")
    for text in ("a" * 64, "version 1", "drift", "Person 2"):
        assertContains(page, text)
    # two preference checkpoints a task: one of each tier in 6 tasks
    assert page.context["tiers"] == [
        {"tier": "direct", "count": 6, "share": 0.5},
        {"tier": "combined", "count": 6, "share": 0.5},
    ]
    assertContains(page, "none alone")
    assert viewer.get("/datasets/none/").status_code == 404
    assert viewer.get("/datasets/small/personas/nobody/").status_code == 404


def test_a_dataset_that_is_still_being_written_is_not_there(viewer, dataset):
    Dataset.objects.update(complete=False)
    assert viewer.get("/datasets/small/").status_code == 404
    assertContains(viewer.get("/datasets/"), "No dataset yet")


# --- search, sign-in, frame


def test_search_goes_straight_to_a_numbered_run(viewer, finished):
    assert viewer.get("/search/", {"q": f"run {finished.pk}"})["Location"] == reverse("run-detail", args=[finished.pk])


def test_search_says_when_nothing_is_found(viewer, dataset):
    assertContains(viewer.get("/search/", {"q": "zzz"}), "Nothing is called")


@pytest.mark.django_db
def test_the_sign_in_page_says_when_a_password_is_wrong(client):
    response = client.post("/login/", {"username": "nobody", "password": "wrong"})
    assertContains(response, "Please enter a correct username and password")


def test_signing_out_needs_a_post(viewer):
    assert viewer.get("/logout/").status_code == 405
    assert viewer.post("/logout/")["Location"] == "/login/"


def test_no_page_has_an_inline_script_or_style(viewer, finished):
    trajectory = reverse("trajectory", args=[trajectory_of(finished, "iba").pk])
    for path in (*PAGES, reverse("run-detail", args=[finished.pk]), trajectory):
        text = viewer.get(path).content.decode()
        assert "<style" not in text, path
        assert " style=" not in text, path
        assert "<script>" not in text, path
        assert "onclick" not in text, path


def test_a_missing_page_says_so(viewer):
    assertContains(viewer.get("/nope/"), "There is no such page", status_code=404)


def test_results_are_those_that_scoring_computes(viewer, finished):
    cells = {cell["method"]: cell for cell in results_of(finished)["cells"]}
    assert cells["iba"]["task_success"]["mean"] == 1.0
    assert cells["rag"]["task_success"]["mean"] == 0.0
