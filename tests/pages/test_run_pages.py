"""Launching a run, and watching it."""

from __future__ import annotations

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from bench.models import Endpoint, Run, Unit
from iba_site import services
from tests.pages.conftest import HOSTILE, finish, make_endpoints, make_run

HTMX = {"HX-Request": "true"}


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


@pytest.fixture
def answering(db):
    """Endpoints that answer: the stand-in under their names."""
    make_endpoints()
    services.ensure("offline")
    Endpoint.objects.update(base_url=services.offline_url())


def test_a_launch_leads_to_the_page_of_the_run(admin, dataset, answering):
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


@pytest.mark.parametrize(("field", "dead"), [("model", "qwen"), ("judges", "judge-b")])
def test_a_launch_on_an_endpoint_that_does_not_answer_says_so_beside_the_field_and_loses_nothing(
    admin, dataset, answering, field, dead
):
    Endpoint.objects.filter(slug=dead).update(base_url="http://127.0.0.1:9/v1")
    response = admin.post(reverse("run-new"), wish(repeats=3, seed=42, budget_usd="1.5"), headers=HTMX)
    form = response.context["form"]
    assert list(form.errors) == [field]
    assertContains(response, f"Endpoint &#x27;{dead}&#x27; (http://127.0.0.1:9/v1) cannot be reached", status_code=422)
    assertContains(response, "Launch 36 units", status_code=422)
    for part in ('value="42"', 'value="1.5"', 'value="rag" id="id_methods_', '<option value="qwen" selected>'):
        assertContains(response, part, status_code=422)
    assert form["methods"].value() == ["iba", "rag"]
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


def test_a_run_that_its_budget_paused_gets_a_larger_one_and_is_resumed(admin, running):
    Run.objects.update(status="paused", budget_usd=2, spent_usd=2.25, budget_hit=True)
    page, budget = (reverse(name, args=[running.pk]) for name in ("run-detail", "run-budget"))
    assertContains(admin.get(page), 'href="#run-budget"')
    refused = admin.post(budget, {"budget_usd": "2.25"}, headers=HTMX)
    assertContains(refused, "has spent 2.2500 USD already", status_code=422)
    assertContains(refused, 'value="2.25"', status_code=422)
    assertNotContains(refused, "<html", status_code=422)
    assertContains(admin.post(budget, {"budget_usd": "much"}), "Enter a number", status_code=422)
    assert admin.post(budget, {"budget_usd": "3"})["Location"] == page
    assert admin.post(budget, {"budget_usd": "4"}, headers=HTMX)["HX-Redirect"] == page
    assertNotContains(admin.get(page), "is used up")
    admin.post(reverse("run-act", args=[running.pk, "resume"]))
    run = Run.objects.get()
    assert (run.status, run.budget_usd, run.budget_hit) == ("running", 4, False)
    admin.post(budget, {"budget_usd": ""})
    assert Run.objects.get().budget_usd is None


def test_only_an_administrator_changes_a_budget(viewer, running):
    assert viewer.post(reverse("run-budget", args=[running.pk]), {"budget_usd": "5"}).status_code == 403
    assertNotContains(viewer.get(reverse("run-detail", args=[running.pk])), "Set the budget")


def test_a_finished_run_shows_its_results_by_whose_verdicts_count(viewer, finished):
    path = reverse("run-detail", args=[finished.pk])
    assertContains(viewer.get(path), "Paired differences")
    # no human has graded yet, so nothing is evaluated
    assert [cell["evaluated"] for cell in viewer.get(path, {"view": "human"}).context["cells"]] == [0, 0]
