"""Where a domain, a dimension or a conflict has texts and calls, every table of numbers shows both below the total."""

from __future__ import annotations

import re

import pytest

from bench.models import Checkpoint, CheckpointScore, Run, Trajectory
from bench.results.agreement_report import measure_agreement
from bench.results.report import compute
from tests.annotation.factories import make_run


@pytest.fixture
def mixed(db) -> Run:
    """One domain with a text and a call of each of three persons; iba loses the preferences of its calls."""
    run = make_run(personas=3)
    Checkpoint.objects.filter(kind="preference").update(dimension="dining.spice", tier="direct", conflict="drift")
    scores = CheckpointScore.objects.filter(trajectory__unit__method="iba")
    lost = scores.filter(checkpoint__kind="preference", checkpoint__task__scenario__action_kind="call_api")
    lost.update(combined="fail", gap="not_in_plan")
    scores.filter(checkpoint__task__scenario__action_kind="generate").update(human="pass")
    Trajectory.objects.filter(unit__method="iba").update(audit=True)
    Run.objects.filter(pk=run.pk).update(results=None, agreement=None)
    return Run.objects.get(pk=run.pk)


def tables_of(html: str) -> list[str]:
    return [table for table in re.findall(r"<table.*?</table>", html, re.DOTALL) if 'class="measure"' in table]


@pytest.mark.parametrize("path", ["/", "/domains/dining/", "/runs/{run}/", "/compare/"])
def test_every_table_with_a_measure_shows_texts_and_calls_below_its_totals(path, viewer, mixed):
    html = viewer.get(path.format(run=mixed.pk), {"run": mixed.pk}).content.decode()
    whole = [
        table
        for table in tables_of(html)
        if ">Scenario</th>" not in table  # each is of one kind, which stands beside its name
        and 'class="gap"' not in table  # has a table of its own for each kind
    ]
    assert len(whole) >= 2
    for table in whole:
        assert re.search(r'class="part">\s*<th scope="row">texts', table), table
        assert re.search(r'class="part">\s*<th scope="row">calls', table), table


def test_a_domain_and_a_dimension_show_the_shares_of_texts_and_of_calls(viewer, mixed):
    (domain,) = viewer.get("/", {"run": mixed.pk}).context["heat"]
    (dimension,) = viewer.get("/domains/dining/", {"run": mixed.pk}).context["dimensions"]
    for row in (domain, dimension):
        assert row["values"][0]["method"] == "rag"  # the better one first
        shares = {kind: [value["mean"] for value in values] for kind, values in row["parts"].items()}
        assert shares == {"generate": [1, 1], "call_api": [1, 0]}
        assert {kind: [v["planned"] for v in values] for kind, values in row["parts"].items()}["call_api"][0] > 0


def test_what_was_lost_is_shown_for_texts_and_for_calls_where_both_lost_something(viewer, mixed):
    page = viewer.get("/", {"run": mixed.pk})
    assert list(page.context["gaps"]) == [""]  # only calls have lost anything
    text = CheckpointScore.objects.filter(
        trajectory__unit__method="rag",
        checkpoint__kind="preference",
        checkpoint__task__scenario__action_kind="generate",
    ).first()
    text.combined, text.gap = "fail", "not_retrieved"
    text.save()
    for path in ("/", "/domains/dining/"):
        gaps = viewer.get(path, {"run": mixed.pk}).context["gaps"]
        assert {kind: [row["stage"] for row in rows] for kind, rows in gaps.items()} == {
            "": ["not_retrieved", "not_in_plan"], "generate": ["not_retrieved"], "call_api": ["not_in_plan"],
        }  # fmt: skip


def test_the_json_of_results_splits_domains_stages_and_estimates_too(mixed):
    results = compute(mixed)
    assert list(results["lost_at_by_action"]["call_api"]["dining"]) == ["iba"]
    assert results["lost_at_by_action"]["generate"] == {"": {}, "dining": {}}
    by_both = {pair["action"]: pair["difference"] for pair in results["paired_by_domain_and_action"]}
    assert by_both == {"call_api": -1, "generate": 0}  # iba fails all calls, rag none; both pass all texts
    estimate = results["human_calibrated"]["iba"]["by_domain"]["dining"]
    assert estimate["by_action"].keys() == {"generate", "call_api"}
    assert estimate["by_action"]["call_api"]["reason"].startswith("0 of 3 audit")


def test_the_comparison_splits_conflicts_tiers_and_domains(viewer, mixed):
    page = viewer.get("/compare/", {"run": mixed.pk, "a": "iba", "b": "rag"})
    for rows in (page.context["conflicts"], page.context["tiers"]):
        (row,) = rows
        assert {kind: (rate["a"]["mean"], rate["b"]["mean"]) for kind, rate in row["parts"].items()} == {
            "call_api": (0, 1), "generate": (1, 1),
        }  # fmt: skip
    (domain,) = page.context["domain_rows"]
    assert {part["action"]: part["difference"] for part in domain["parts"]} == {"call_api": -1, "generate": 0}


def test_the_groups_of_the_agreement_report_are_those_of_each_kind_of_action_too(viewer, mixed):
    report = measure_agreement(mixed)
    part = report["by_action"]["generate"]
    (row,) = (one for one in part["groups"] if (one["by"], one["kind"]) == ("domain", "judge-judge"))
    (alone,) = (one for one in part["overall"] if one["kind"] == "judge-judge")
    assert (row["group"], row["n"], row["raw"]) == ("dining", alone["n"], alone["raw"])
    assert report["by_action"]["call_api"]["groups"] == []  # rules decide the calls, so nobody agrees with anybody
    page = viewer.get("/agreement/", {"run": mixed.pk, "action": "generate"})
    assert "By domain" in page.content.decode()


def test_a_kind_of_action_that_a_run_does_not_have_is_not_shown_as_if_it_had(viewer, mixed):
    scores = CheckpointScore.objects.filter(checkpoint__task__scenario__action_kind="call_api")
    scores.delete()
    page = viewer.get("/agreement/", {"run": mixed.pk, "action": "call_api"})
    assert (page.context["actions"], page.context["action"]) == (["generate"], "")
