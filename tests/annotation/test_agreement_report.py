import json
import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils.html import escape

from bench.results.agreement_report import agreement_of, measure_agreement
from tests.annotation.factories import grade, judge

MEASURES = ("raw", "ac1", "alpha", "kappa", "prevalence")


def pair(report, a, b):
    return next(row for row in report["pairs"] if {row["a"], row["b"]} == {a, b})


def test_two_raters_are_measured_over_what_both_graded(run, meal, booking, cast):
    """4 common items, 3 agree (2 pass, 1 fail), 1 not.

    raw = 3/4. Pass shares: ann 3/4, ben 2/4, mean 5/8.
    AC1: pe = 2 * 5/8 * 3/8 = 15/32; (24/32 - 15/32) / (17/32) = 9/17 = 0.5294.
    Cohen: pe = 3/4 * 2/4 + 1/4 * 2/4 = 1/2; (3/4 - 1/2) / (1/2) = 1/2.
    """
    grade(meal, cast["ann"], {0: "pass", 1: "fail"})
    grade(meal, cast["ben"], {0: "pass", 1: "fail"})
    grade(booking, cast["ann"], {0: "pass", 1: "pass", 2: "pass"})
    grade(booking, cast["ben"], {0: "pass", 1: "fail", 2: "cannot_judge"})
    row = pair(agreement_of(run), "ann", "ben")
    assert row["kind"] == "human-human"
    assert (row["n"], row["raw"], row["ac1"], row["kappa"], row["prevalence"]) == (4, 0.75, 0.5294, 0.5, 0.625)


def test_one_class_only_is_undefined_in_words_and_never_nan(run):
    row = pair(agreement_of(run), "judge-north", "judge-east")
    assert (row["raw"], row["ac1"], row["kappa"]) == (1.0, 1.0, None)
    assert row["reasons"]["kappa"] == "undefined because every rating is in one category"


def test_without_raters_the_human_rows_say_so(run):
    rows = {row["kind"]: row for row in agreement_of(run)["overall"]}
    assert rows["human-human"]["ac1"] is None
    assert rows["human-human"]["reasons"]["ac1"] == "undefined because there is no rater"
    assert rows["judge-judge"]["n"] == 8


def test_the_latest_verdict_of_a_judge_counts_and_the_earlier_is_its_retest(run, meal):
    judge(meal, {"judge-north": "fail"})
    report = agreement_of(run)
    assert pair(report, "judge-north", "judge-east")["raw"] == 0.75  # 6 of 8
    retest = next(row for row in report["judges"] if row["split"] == "test-retest" and row["judge"] == "judge-north")
    assert (retest["n"], retest["raw"]) == (2, 0.0)


def test_groups_split_the_items_by_domain_scenario_dimension_and_kind(run):
    rows = [row for row in agreement_of(run)["groups"] if row["kind"] == "judge-judge"]
    assert {(row["by"], row["group"], row["n"]) for row in rows} == {
        ("domain", "dining", 8), ("action_kind", "generate", 8),
        ("scenario", "dining.plan_meal", 8), ("dimension", "dining.texture", 4),
        ("checkpoint_kind", "task", 4), ("checkpoint_kind", "preference", 4),
    }  # fmt: skip


def test_a_run_without_verdicts_has_a_report_of_reasons(run):
    run.units.all()[0]
    empty = type(run).objects.create(
        dataset=run.dataset, manifest=run.manifest, manifest_sha256="1" * 64, simulated=True, model="m"
    )
    report = agreement_of(empty)
    assert report["pairs"] == []
    assert report["effective_votes"] is None
    assert report["effective_votes_reason"].startswith("undefined because")


def test_the_command_writes_the_numbers_of_the_page(run, as_user):
    out = StringIO()
    call_command("agreement", run=run.pk, json="-", stdout=out)
    written = json.loads(out.getvalue())
    assert written == json.loads(json.dumps(agreement_of(run)))
    assert {"a", "b", "kind", "n", "low", "high", *MEASURES} <= written["pairs"][0].keys()
    page = as_user("vera").get("/agreement/", {"run": run.pk})
    assert page.context["report"] == agreement_of(run)


def test_an_unknown_run_is_one_clear_error(run):
    with pytest.raises(CommandError, match=f"there is no run 999999; the newest are: {run.pk}"):
        call_command("agreement", run=999999, json="-")


def test_items_that_one_rater_graded_change_no_number(run, meal, booking, cast):
    """ann and ben grade the meal; what ann alone says of the booking says nothing of how the two agree."""
    grade(meal, cast["ann"], {0: "pass", 1: "fail"})
    grade(meal, cast["ben"], {0: "pass", 1: "pass"})
    alone = next(row for row in measure_agreement(run)["overall"] if row["kind"] == "human-human")
    grade(booking, cast["ann"], {0: "fail", 1: "fail", 2: "fail"})
    assert next(row for row in measure_agreement(run)["overall"] if row["kind"] == "human-human") == alone
    assert alone["n"] == 2


def test_the_report_of_each_kind_of_action_is_that_of_its_items_alone(run, meal, booking, cast, as_user):
    grade(meal, cast["ann"], {0: "pass", 1: "fail"})
    grade(meal, cast["ben"], {0: "pass", 1: "pass"})
    grade(booking, cast["ann"], {0: "pass", 1: "pass", 2: "pass"})
    grade(booking, cast["ben"], {0: "pass", 1: "pass", 2: "pass"})
    report = agreement_of(run)
    # of texts the two agree on 1 of 2, of calls on 3 of 3
    parts = report["by_action"]
    assert (pair(parts["generate"], "ann", "ben")["raw"], pair(parts["generate"], "ann", "ben")["n"]) == (0.5, 2)
    assert (pair(parts["call_api"], "ann", "ben")["raw"], pair(parts["call_api"], "ann", "ben")["n"]) == (1.0, 3)
    assert pair(report, "ann", "ben")["raw"] == 0.8
    page = as_user("vera").get("/agreement/", {"run": run.pk, "action": "generate"})
    assert pair(page.context["report"], "ann", "ben")["n"] == 2
    assert '<option value="generate" selected>texts</option>' in page.content.decode()


def test_every_number_of_the_agreement_page_has_its_interval_or_the_reason(run, meal, booking, cast, as_user):
    for other, person in (("fail", "ann"), ("pass", "ben")):
        grade(meal, cast[person], {0: "pass", 1: other})
        grade(booking, cast[person], {0: "pass", 1: "pass", 2: other})
    html = as_user("vera").get("/agreement/", {"run": run.pk}).content.decode()
    cells = [cell for cell in re.findall(r'<td class="n">(.*?)</td>', html, re.DOTALL) if re.search(r"\d\.\d\d", cell)]
    assert len(cells) > 20
    assert [cell for cell in cells if not re.search(r"\([^)]*(\d|–)\)", cell)] == []


def test_constant_judges_are_named_on_the_page(run, as_user):
    report = agreement_of(run)
    assert report["effective_votes"] is None
    assert {line["left_out"] for line in report["panel"]} == {"always says pass"}
    page = as_user("vera").get("/agreement/", {"run": run.pk}).content.decode()
    assert "always says pass" in page
    assert "lower bound" not in page


def test_a_weak_panel_is_warned_of_on_the_page_and_in_the_report(run, as_user):
    run.manifest["judges"] = run.manifest["judges"][:1]
    run.save()
    type(run).objects.filter(pk=run.pk).update(agreement=None)
    run.refresh_from_db()
    warning = "The panel has one judge, judge-north: its errors are the scores' errors."
    assert agreement_of(run)["warnings"] == [warning]
    for address in (f"/agreement/?run={run.pk}", f"/runs/{run.pk}/"):
        assert escape(warning) in as_user("vera").get(address).content.decode()
