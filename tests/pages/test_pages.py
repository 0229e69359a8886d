"""What each page shows to whom, what it refuses, and how many queries it takes."""

from __future__ import annotations

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from bench.models import Dataset, Run, Trajectory, Unit
from bench.scoring.results import results_of
from tests.pages.acting import act_out
from tests.pages.conftest import HOSTILE, finish, make_dataset, make_endpoints, make_run

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
HTMX = {"HX-Request": "true"}


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
    # iba passes all 6 tasks, rag none of its 6
    assertContains(page, "6 of 6", count=2)
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
    assert page.context["scenarios"][0]["methods"]["iba"]["mean"] == 1.0
    # 3 tasks with one checkpoint a dimension; rag loses all of the second
    assert [row["methods"]["rag"]["mean"] for row in page.context["dimensions"]] == [1.0, 0.0]
    assert viewer.get("/domains/nowhere/").status_code == 404


def test_the_start_page_takes_as_many_queries_for_many_runs_as_for_one(
    viewer, finished, dataset, django_assert_num_queries
):
    viewer.get("/")
    with django_assert_num_queries(8):
        viewer.get("/")
    viewer.get("/", {"run": finish(make_run(dataset)).pk})
    with django_assert_num_queries(8):
        viewer.get("/")


# --- runs


def test_the_list_of_runs_takes_the_same_queries_however_many_there_are(viewer, dataset, django_assert_num_queries):
    make_run(dataset)
    with django_assert_num_queries(6):
        viewer.get("/runs/")
    for _ in range(3):
        make_run(dataset)
    with django_assert_num_queries(6):
        viewer.get("/runs/")


def wish(**changes):
    return {
        "dataset": "small", "methods": ["iba", "rag"], "model": "qwen", "judges": ["judge-a", "judge-b", "judge-c"],
        "repeats": 1, "seed": 1, "max_in_flight": 8, **changes,
    }  # fmt: skip


def test_the_button_counts_the_units_to_be_launched(admin, dataset):
    make_endpoints()
    # 6 tasks x 2 methods x 3 repeats = 36, in one domain 3 x 2 x 3 = 18
    assertContains(admin.get(reverse("run-units"), wish(repeats=3)), "Launch 36 units")
    assertContains(admin.get(reverse("run-units"), wish(repeats=3, domains=["dining"])), "Launch 18 units")


def test_the_button_says_why_nothing_can_be_launched(admin, dataset):
    make_endpoints()
    assertContains(admin.get(reverse("run-units"), wish(judges=[])), "judges must be named")
    assertContains(admin.get(reverse("run-units"), wish(methods=[])), "Choose at least one method")


def test_a_launch_leads_to_the_page_of_the_run(admin, dataset):
    make_endpoints()
    response = admin.post(reverse("run-new"), wish(domains=["travel"]))
    run = Run.objects.get()
    assert response["Location"] == reverse("run-detail", args=[run.pk])
    assert run.units.count() == 6
    assert run.created_by.username == "admin-person"


def test_an_invalid_launch_returns_the_same_fragment_with_422_and_writes_nothing(admin, dataset):
    make_endpoints()
    response = admin.post(reverse("run-new"), wish(repeats=99), headers=HTMX)
    assert response.status_code == 422
    assertContains(response, 'id="launch-form"', status_code=422)
    assertNotContains(response, "<html", status_code=422)
    assertContains(response, "less than or equal to 20", status_code=422)
    assert not Run.objects.exists()


def test_a_refused_launch_says_what_was_wrong(admin, dataset):
    make_endpoints()
    response = admin.post(reverse("run-new"), wish(judges=[]))
    assertContains(response, "judges must be named", status_code=422)
    assertContains(response, "<html", status_code=422)
    assert not Run.objects.exists()


def test_a_running_run_is_polled_and_a_finished_one_is_not(viewer, running):
    path = reverse("run-detail", args=[running.pk])
    assertContains(viewer.get(path), 'hx-trigger="every 2s"')
    finish(running)
    assertNotContains(viewer.get(path), "every 2s")


def test_the_polled_fragment_has_no_frame_and_renews_the_errors(viewer, running):
    Unit.objects.filter(pk=running.units.first().pk).update(status="failed", error=f"Timeout {HOSTILE}\ntraceback")
    response = viewer.get(reverse("run-detail", args=[running.pk]), headers=HTMX)
    assertNotContains(response, "<html")
    assertContains(response, 'hx-swap-oob="true"')
    assertContains(response, "Timeout &lt;script&gt;")
    assertNotContains(response, "traceback")
    assert "HX-Request" in response["Vary"]


def test_a_run_can_be_paused_resumed_and_cancelled_by_an_administrator_only(admin, viewer, running):
    def act(client, verb):
        return client.post(reverse("run-act", args=[running.pk, verb])).status_code

    assert act(viewer, "pause") == 403
    assert act(admin, "pause") == 302
    assert Run.objects.get().status == "paused"
    assert act(admin, "cancel") == 302
    assert Run.objects.get().status == "cancelled"
    assert admin.get(reverse("run-act", args=[running.pk, "cancel"])).status_code == 405


def test_a_finished_run_shows_its_results_by_whose_verdicts_count(viewer, finished):
    path = reverse("run-detail", args=[finished.pk])
    assertContains(viewer.get(path), "Paired differences")
    # no human has graded yet, so nothing is evaluated
    assert [cell["evaluated"] for cell in viewer.get(path, {"view": "human"}).context["cells"]] == [0, 0]


# --- comparison


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


# --- trajectories


def trajectory_of(run: Run, method: str, kind: str = "call_api") -> Trajectory:
    return Trajectory.objects.filter(unit__run=run, unit__method=method, unit__task__scenario__action_kind=kind).first()


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
    assert viewer.get("/trajectories/", {"run": "no number"}).status_code == 200


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
