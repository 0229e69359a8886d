"""Both denominators stand at every number, and no part of a run has a headline under 95% of its units."""

from __future__ import annotations

import json
from io import StringIO

from django.core.management import call_command
from pytest_django.asserts import assertContains

from bench.models import CheckpointScore, Domain, Run, Trajectory
from bench.pages.queries.heat import satisfaction_by_dimension, success_by_scenario
from bench.pages.queries.overview import success_forest
from bench.results.report import results_of
from bench.runs.launch import plan_run, start
from bench.runs.spec import RunSpec
from iba_site import services
from tests.pages.conftest import finish


def lose_a_dinner(run: Run) -> None:
    """One of the three dinners of iba is without a score, as where its judges were lost."""
    dinner = Trajectory.objects.filter(unit__run=run, unit__method="iba", unit__task__scenario__slug="plan_meal")
    CheckpointScore.objects.filter(trajectory=dinner.first()).update(combined="")


def test_a_domain_under_95_percent_has_no_headline_and_says_what_is_missing(viewer, finished):
    lose_a_dinner(finished)
    page = viewer.get("/domains/dining/", {"run": finished.pk})
    # 2 of 3 dinners is 67%
    assertContains(page, "evaluated 2 of 3 (66%); no headline below 95%")
    assertContains(page, '<td class="n den">2 of 3</td>', html=True)
    assertContains(page, '<td class="n den">3 of 3</td>', html=True)  # rag


def test_the_command_withholds_what_the_page_withholds(viewer, dataset):
    """Of three dinners of iba two are evaluated, of its six tasks five: neither has a headline, its three calls do."""
    services.ensure("offline")
    judges = ["offline-judge-a", "offline-judge-b", "offline-judge-c"]
    run = start(plan_run(RunSpec(dataset="small", methods=["iba", "rag"], model="offline", judges=judges)))
    finish(run, simulated=True)
    lose_a_dinner(run)
    out, said = StringIO(), StringIO()
    asked = {"dataset": "small", "methods": "iba,rag", "model": "offline", "judges": ",".join(judges), "reuse": True}
    call_command("run_benchmark", **asked, json="-", stdout=out, stderr=said)
    lines = {line.split()[0]: line for line in reversed(said.getvalue().splitlines()) if line.strip()}
    assert json.loads(out.getvalue())["run_id"] == run.pk
    table = said.getvalue().split("-----\n")[1].splitlines()
    iba, calls, texts, rag = (line.split() for line in table[:4])
    assert (iba[:4], iba[-2:]) == (["iba", "–", "–", "–"], ["5/6", "0"])
    assert (texts[:4], texts[-2:]) == (["texts", "–", "–", "–"], ["2/3", "0"])
    assert (calls[0], calls[5], calls[-2:]) == ("calls", "1.00", ["3/3", "0"])
    assert (rag[0], rag[5], rag[-2:]) == ("rag", "0.00", ["6/6", "0"])
    assert lines["iba:"].endswith("evaluated 5 of 6 (83%); no headline below 95%")
    assert "evaluated 2 of 3 (66%); no headline below 95%" in said.getvalue()
    page = viewer.get("/", {"run": run.pk, "simulated": "1"}).content.decode()
    whole, calls, texts = page.split('method=iba">')[1].split("</tr>")[:3]
    assert whole.count('title="evaluated 5 of 6 (83%); no headline below 95%"') == 3
    assert texts.count('title="evaluated 2 of 3 (66%); no headline below 95%"') == 3
    assert '<span class="measure" title="n = 3">1.00' in calls


def test_the_chart_of_a_domain_leaves_out_what_has_no_headline_there(finished):
    lose_a_dinner(finished)
    cells = results_of(Run.objects.get(pk=finished.pk))["cells"]
    assert success_forest(cells[:1], simulated=False, domain="dining") is None
    assert success_forest(cells[:1], simulated=False, domain="travel") is not None


def test_the_heat_map_gives_the_reason_instead_of_a_number(viewer, finished):
    lose_a_dinner(finished)
    rows = {row["slug"]: row["values"] for row in viewer.get("/", {"run": finished.pk}).context["heat"]}
    values = {value.get("why") or value["mean"] for value in rows["dining"]}
    assert values == {"evaluated 2 of 3 (66%); no headline below 95%", 0.0}
    assert {(value["n"], value["planned"]) for value in rows["travel"]} == {(3, 3)}


def test_scenarios_and_dimensions_count_units_that_never_came_back(finished):
    dining = Domain.objects.get(slug="dining")
    unit = finished.units.filter(method="rag", task__scenario__slug="plan_meal").first()
    unit.trajectory.scores.all().delete()
    (scenario,) = success_by_scenario(finished, dining, ["iba", "rag"])
    iba, rag = scenario["values"]
    assert (rag["mean"], iba["mean"]) == (None, 1)
    assert rag["why"].startswith("evaluated 2 of 3")
    rows = satisfaction_by_dimension(finished, dining, ["iba", "rag"])
    assert [(iba["n"], iba["planned"]) for iba, _ in (row["values"] for row in rows)] == [(3, 3), (3, 3)]
    assert {rag["mean"] for _, rag in (row["values"] for row in rows)} == {None}


def test_the_funnel_says_how_many_checkpoints_are_not_in_it(viewer, finished):
    lose_a_dinner(finished)
    page = viewer.get("/compare/", {"run": finished.pk, "a": "iba", "b": "rag"})
    # one dinner with two preferences
    assert [(funnel["start"], funnel["unscored"]) for funnel in page.context["funnels"]] == [(10, 2), (12, 0)]
    assertContains(page, "2 more are not scored, so they are not in the funnel.")


def test_a_difference_says_how_many_of_the_common_units_both_have_scored(viewer, finished):
    lose_a_dinner(finished)
    page = viewer.get("/compare/", {"run": finished.pk, "a": "iba", "b": "rag"})
    assertContains(page, '<td class="n den">5 of 6</td>', html=True)
