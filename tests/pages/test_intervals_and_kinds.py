"""Every mean on a page stands with its interval and n, and every total is split by kind of action."""

from __future__ import annotations

import re

import pytest
from pytest_django.asserts import assertContains

from bench.management.table import results_table
from bench.models import CheckpointScore, Run, Trajectory
from bench.results.independence import expected_if_independent
from bench.results.report import compute, results_of
from bench.results.rows import NO_CHECKPOINT, Outcomes, Row
from bench.statistics.intervals import clustered_count, clustered_mean, clustered_share
from tests.pages.conftest import finish, make_run

# three personas, all or nothing passed: t(2)^2 = 4.30265^2 = 18.5128; 3 of 3: low 3 / (3 + 18.5128) = .13945
THREE_OF_THREE = "(0.14–1.00)"
NONE_OF_THREE = "(0.00–0.86)"


def lose_calls_of_iba(run: Run) -> None:
    """iba passes its three texts and fails the task checkpoint of its three calls."""
    scores = CheckpointScore.objects.filter(trajectory__unit__run=run, trajectory__unit__method="iba")
    scores.filter(checkpoint__task__scenario__action_kind="call_api", checkpoint__kind="task").update(combined="fail")


def page_of(viewer, path: str, **query):
    return viewer.get(path, query)


def bare_numbers(html: str) -> list[str]:
    """Shares in table cells that have no interval, n or reason beside them. Heat cells have theirs in the title."""
    cells = re.findall(r"<td[^>]*>.*?</td>", html, re.DOTALL)
    shares = [cell for cell in cells if re.search(r">\s*[+−]?[<>]?[01]\.\d\d\b", cell)]
    return [cell for cell in shares if not re.search(r"n = \d", cell) or not re.search(r"\([^)]*[–t]", cell)]


@pytest.mark.parametrize("path", ["/", "/domains/dining/", "/runs/{run}/", "/compare/"])
def test_no_mean_stands_on_a_page_without_its_interval_and_n(path, viewer, finished):
    Trajectory.objects.filter(unit__method="iba").update(over_applied=1)
    html = page_of(viewer, path.format(run=finished.pk), run=finished.pk).content.decode()
    html = re.sub(r"<h2>Judges</h2>.*?</table>", "", html, flags=re.DOTALL)  # counts of all that was asked
    html = re.sub(r'<td class="n">(\d\.\d\d|–)</td>\s*<td class="pair-words.*?</td>', "", html, flags=re.DOTALL)  # p
    assert "(0.14–1.00)" in html or "(0.24–1.00)" in html
    assert bare_numbers(html) == []


def test_a_cell_of_a_heat_map_says_its_interval_and_n_and_a_table_says_them_without_a_mouse(viewer, finished):
    for path in ("/", "/domains/dining/"):
        page = page_of(viewer, path, run=finished.pk)
        shades = dict(re.findall(r'<a\s+class="h-(\d)"[^>]*title="([^"]*)"', page.content.decode()))
        assert shades == {"9": f"{THREE_OF_THREE} n = 3 of 3", "0": f"{NONE_OF_THREE} n = 3 of 3"}
        table = page.content.decode().split('<details class="as-numbers">')[1].split("</details>")[0]
        assert f'1.00 <span class="interval">{THREE_OF_THREE}' in table
        assert '<span class="interval">3 of 3</span>' in table
        assert "tabindex" not in table


def test_behaviour_and_preference_of_a_domain_have_intervals(viewer, finished):
    page = page_of(viewer, "/domains/dining/", run=finished.pk)
    # rag: behaviour 1.00 of three dinners, preference one half in each of three personas
    (measures,) = [here for cell, here, _ in page.context["here"] if cell["method"] == "rag"]
    assert measures["behaviour_accuracy"] == clustered_mean([1, 1, 1], "abc").to_json()
    assert measures["preference_satisfaction"] == clustered_mean([0.5, 0.5, 0.5], "abc").to_json()
    assertContains(page, f'1.00 <span class="interval">{THREE_OF_THREE}')
    low, high = (f"{bound:.2f}" for bound in (measures["preference_satisfaction"][k] for k in ("low", "high")))
    assertContains(page, f'0.50 <span class="interval">({low}–{high})')


def test_scenarios_and_dimensions_have_the_interval_of_their_personas(viewer, finished):
    page = page_of(viewer, "/domains/dining/", run=finished.pk)
    (scenario,) = page.context["scenarios"]
    assert scenario["note"] == "texts"
    iba = scenario["values"][0]
    assert {name: iba[name] for name in ("mean", "low", "high", "n")} == clustered_mean([1, 1, 1], "abc").to_json()
    _, tone = page.context["dimensions"]
    rag = tone["values"][1]
    assert {name: rag[name] for name in ("mean", "low", "high", "n")} == clustered_share([0, 0, 0], [1, 1, 1]).to_json()


def test_over_applied_constraints_and_recall_have_intervals(finished):
    for over, trajectory in enumerate(Trajectory.objects.filter(unit__method="iba").order_by("pk")):
        Trajectory.objects.filter(pk=trajectory.pk).update(over_applied=over % 2)
    units = finished.units.filter(method="iba").order_by("pk").select_related("task", "trajectory")
    cell = compute(finished)["cells"][0]
    counts = [unit.trajectory.over_applied for unit in units]
    expected = clustered_count(counts, [unit.task.persona_id for unit in units]).to_json()
    assert cell["over_applied"] == {"count": 3, **expected}
    assert (cell["recall"]["mean"], cell["recall"]["n"]) == (0.5, 6)
    assert 0 < cell["recall"]["low"] < 0.5 < cell["recall"]["high"] < 1


def test_what_the_events_settle_stands_beside_recall_with_its_interval(viewer, finished):
    for place, trajectory in enumerate(Trajectory.objects.filter(unit__method="iba").order_by("pk")):
        Trajectory.objects.filter(pk=trajectory.pk).update(settled=(1.0, 0.5)[place % 2])
    iba, rag = compute(finished)["cells"]
    assert (iba["settled"]["mean"], iba["settled"]["n"]) == (0.75, 6)  # three of 1 and three of .5
    assert 0 < iba["settled"]["low"] < 0.75 < iba["settled"]["high"] < 1
    assert (rag["settled"]["mean"], rag["settled"]["n"]) == (None, 0)  # stored before there was the measure
    assertContains(page_of(viewer, f"/runs/{finished.pk}/"), "events seen settle for an ideal reader")
    assert f"0.75 ({iba['settled']['low']:.2f}–{iba['settled']['high']:.2f})" in results_table(
        finished, compute(finished)
    )


def test_a_stage_that_lost_preferences_has_its_share_of_all_lost_and_the_interval(viewer, finished):
    (row,) = page_of(viewer, "/", run=finished.pk).context["gaps"][""]
    # rag lost six preferences, all at retrieval, two of each of three personas
    assert row["cells"][1]["share"] == {
        "stage": "not_retrieved", "count": 6, **clustered_share([2, 2, 2], [2, 2, 2]).to_json()
    }  # fmt: skip
    funnels = page_of(viewer, "/compare/", run=finished.pk, a="iba", b="rag").context["funnels"]
    assert funnels[1]["stages"][0]["interval"] == clustered_share([2, 2, 2], [4, 4, 4]).to_json()


def one_row(task: int, action: str, passed: int, preferences: Outcomes = NO_CHECKPOINT) -> Row:
    """A task with two checkpoints, two tasks a persona."""
    return Row(
        method="iba", task_id=task, repeat=0, persona_id=task // 2, domain="dining", split="test", action=action,
        status="scored", behaviour_accuracy=passed / 2, preference_satisfaction=None, task_success=float(passed == 2),
        evidence_recall=None, settled=None, over_applied=None, audit=False, llm_calls=0, tokens_in=0, tokens_out=0,
        cost_usd=0.0, wall_s=0.0, tasks=Outcomes(2, 2, passed), preferences=preferences,
    )  # fmt: skip


def test_what_independent_checkpoints_would_give_has_an_interval_over_personas():
    rows = [one_row(task, "generate", passed) for task, passed in enumerate([2, 1, 0, 2, 1, 1, 2, 2])]
    found = expected_if_independent(rows)
    # 11 of 16 checkpoints pass; both of a task: (11/16)^2 = .4727
    assert (found["mean"], found["n"], found["reason"]) == (0.4727, 8, "")
    # of four personas one has 3 of 4, one 2, one 2, one 4: no draw is under (2/4)^2 or over (4/4)^2
    assert 0.25 <= found["low"] < found["mean"] < found["high"] <= 1


def test_where_all_checkpoints_ended_alike_independence_says_why_it_has_no_interval():
    found = expected_if_independent([one_row(task, "generate", 2) for task in range(6)])
    assert (found["mean"], found["low"], found["high"]) == (1, None, None)
    assert found["reason"] == "undefined because the checkpoints of a kind all ended alike"
    assert expected_if_independent([])["reason"] == "no checkpoint is scored"


# --- by kind of action


def test_each_total_of_a_cell_stands_for_each_kind_of_action_too(finished):
    lose_calls_of_iba(finished)
    iba = compute(finished)["cells"][0]
    texts, calls = iba["by_action"]["generate"], iba["by_action"]["call_api"]
    assert (iba["task_success"]["mean"], texts["task_success"]["mean"], calls["task_success"]["mean"]) == (0.5, 1, 0)
    for name in ("planned", "evaluated", "errors", "unscored", "llm_calls", "tokens_in", "tokens_out"):
        assert texts[name] + calls[name] == iba[name], name
    assert texts["cost_usd"] + calls["cost_usd"] == pytest.approx(iba["cost_usd"])
    totals = {"recall", "settled", "over_applied", "repeats", "expected_if_independent", "evidence_recall", "headline"}
    assert totals <= texts.keys() & calls.keys()
    assert iba["by_domain"]["travel"]["by_action"]["call_api"]["task_success"]["mean"] == 0


def test_views_differences_losses_and_human_estimates_are_split_by_kind_of_action(finished):
    lose_calls_of_iba(finished)
    Trajectory.objects.filter(unit__method="iba").update(audit=True)
    scores = CheckpointScore.objects.filter(trajectory__unit__method="iba")
    scores.filter(checkpoint__task__scenario__action_kind="generate").update(human="pass")
    results = compute(finished)
    view = results["views"]["combined"]["iba"]
    assert {kind: one["task_success"]["mean"] for kind, one in view["by_action"].items()} == {
        "generate": 1, "call_api": 0,
    }  # fmt: skip
    success = [pair for pair in results["paired_by_action"] if pair["metric"] == "task_success"]
    # of texts iba passes 3 and rag none; of calls neither passes any
    assert {pair["action"]: pair["difference"] for pair in success} == {"generate": 1, "call_api": 0}
    assert {row["action"] for row in results["losses"]} == {"generate", "call_api"}
    estimate = results["human_calibrated"]["iba"]
    assert estimate["reason"] == "3 of 6 audit trajectories decided; an estimate needs 90%"
    assert estimate["by_action"]["generate"]["estimate"] == 1
    assert estimate["by_action"]["call_api"]["reason"].startswith("0 of 3 audit")


@pytest.mark.parametrize(
    ("path", "tables"),
    [("/", 2), ("/runs/{run}/", 4), ("/compare/", 4)],
)
def test_pages_show_texts_and_calls_below_each_total(path, tables, viewer, finished):
    """Start page: results, differences. Run: those, who grades, independence. Comparison: task success,
    differences, tiers, conflicts. Here no domain has tasks of both kinds."""
    html = page_of(viewer, path.format(run=finished.pk), run=finished.pk).content.decode()
    split = [
        table
        for table in re.findall(r"<table.*?</table>", html, re.DOTALL)
        if re.search(r'class="part">\s*<th scope="row">texts', table)
    ]
    assert len(split) == tables
    assert all(re.search(r'class="part">\s*<th scope="row">calls', table) for table in split)


@pytest.mark.parametrize("path", ["/", "/runs/{run}/", "/compare/", "/domains/travel/"])
def test_a_page_narrows_to_one_kind_of_action(path, viewer, finished):
    lose_calls_of_iba(finished)
    page = page_of(viewer, path.format(run=finished.pk), run=finished.pk, action="call_api")
    assert page.context["action"] == "call_api"
    (iba,) = [cell for cell in page.context["cells"] if cell["method"] == "iba"]
    assert (iba["planned"], iba["task_success"]["mean"], list(iba["by_action"])) == (3, 0, ["call_api"])
    assert not re.search(r'class="part"', page.content.decode())
    assertContains(page, "calls only" if "runs" not in path else "<b>calls</b>")


def test_the_comparison_narrows_its_funnels_conflicts_and_differences_too(viewer, finished):
    page = page_of(viewer, "/compare/", run=finished.pk, a="iba", b="rag", action="generate")
    assert [funnel["start"] for funnel in page.context["funnels"]] == [6, 6]
    assert {row["slug"]: row["a"]["n"] for row in page.context["conflicts"]} == {"none": 3, "drift": 3}
    assert page.context["paired"]["common"] == 3
    assert [row["domain"] for row in page.context["paired"]["domains"]] == ["dining"]


def test_two_runs_compared_are_narrowed_to_a_kind_of_action(viewer, finished, dataset):
    other = finish(make_run(dataset))
    asked = {"run": finished.pk, "a": "iba", "with": other.pk, "b": "rag", "action": "call_api"}
    paired = page_of(viewer, "/compare/", **asked).context["paired"]
    success = next(row for row in paired["metrics"] if row["metric"] == "task_success")
    assert (success["pair"]["n"], success["pair"]["difference"], success["parts"]) == (3, 1, [])


def test_trajectories_are_listed_by_kind_of_action(viewer, finished):
    page = page_of(viewer, "/trajectories/", run=finished.pk, action="call_api")
    assert {one.unit.task.scenario.action_kind for one in page.context["page_obj"]} == {"call_api"}
    assert page.context["page_obj"].paginator.count == 6


def test_numbers_of_one_kind_of_action_are_those_of_its_part(finished):
    whole = {cell["method"]: cell["by_action"] for cell in results_of(finished)["cells"]}
    for kind in ("generate", "call_api"):
        for cell in compute(finished, action=kind)["cells"]:
            part = whole[cell["method"]][kind]
            assert {name: cell[name] for name in part} == part
    with pytest.raises(ValueError, match="action 'dance' is not known; allowed: call_api, generate"):
        compute(finished, action="dance")
