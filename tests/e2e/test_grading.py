"""From a rater's first key to the changed number on the dashboard."""

import re
import threading

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import expect

from annotation.batches import Choice, create_batch
from annotation.models import Batch, DraftGrade
from bench.models import Run, Verdict
from bench.results.report import results_of
from tests.annotation.factories import make_run


@pytest.fixture
def run(cast):
    return make_run(personas=1, methods=("iba",))


@pytest.fixture
def batch(run, cast):
    """The booking of the run, three checkpoints, wanted by two raters."""
    made = create_batch(run=run, choice=Choice.DOMAIN, domain="dining", size=2, raters_wanted=2, created_by=cast["ada"])
    Batch.trajectories.through.objects.filter(trajectory__unit__task__slug="meal").delete()
    return made


def task_success(run):
    run = Run.objects.get(pk=run.pk)
    return results_of(run)["cells"][0]["task_success"]["mean"]


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def progress(page, text):
    expect(page.locator("#progress")).to_contain_text(text)


def begin(page):
    page.goto("/annotate/")
    press(page, "g")
    page.wait_for_url(re.compile(r"/annotate/\d+/"))


def test_two_raters_and_an_adjudicator_change_the_result_from_the_keyboard(page_as, run, batch):
    assert task_success(run) == 1.0
    ann = page_as("annotator")
    begin(ann)
    press(ann, "p", "j", "f", "n")
    ann.keyboard.type("The table is for three.")
    press(ann, "Escape")
    progress(ann, "2 of 3")
    expect(ann.locator("#progress")).to_contain_text(re.compile(r"saved \d\d:\d\d:\d\d"))
    ann.wait_for_function("() => document.querySelector('#grading').querySelectorAll('.htmx-request').length === 0")

    ann.reload()
    progress(ann, "2 of 3")
    assert sorted(DraftGrade.objects.values_list("value", "comment")) == [
        ("fail", "The table is for three."),
        ("pass", ""),
    ]
    expect(ann.locator("details[open]")).to_have_attribute("data-number", "3")
    press(ann, "p")
    progress(ann, "3 of 3")
    press(ann, "Control+Enter")
    ann.wait_for_url("**/reveal/")
    expect(ann.get_by_text("no other rater has graded this yet")).to_be_visible()

    ben = page_as("second annotator")
    begin(ben)
    press(ben, "p", "j", "p", "j", "p")
    progress(ben, "3 of 3")
    press(ben, "Control+Enter")
    ben.wait_for_url("**/reveal/")
    assert Verdict.objects.filter(source="human").count() == 6

    otto = page_as("adjudicator")
    otto.goto("/adjudicate/")
    expect(otto.get_by_text("1 checkpoint to settle")).to_be_visible()
    press(otto, "g")
    otto.wait_for_url(re.compile(r"/adjudicate/\d+/\d+/"))
    press(otto, "f", "n")
    otto.keyboard.type("The request says three people.")
    press(otto, "Control+Enter")
    expect(otto.get_by_text("Nothing to settle")).to_be_visible()
    assert task_success(run) == 0.5  # one of two trajectories now fails


def test_a_submit_with_open_checkpoints_names_them_and_keeps_the_grades(page_as, batch):
    page = page_as("annotator", expected=("422",))
    begin(page)
    press(page, "p")
    progress(page, "1 of 3")
    press(page, "Control+Enter")
    expect(page.locator("#submit-error")).to_have_text("Not submitted: grade checkpoint 2, 3 first.")
    progress(page, "1 of 3")
    expect(page.locator("details[open]")).to_have_attribute("data-number", "2")


def test_undo_takes_back_the_last_grade_and_goes_to_its_checkpoint(page_as, batch):
    page = page_as("annotator")
    begin(page)
    press(page, "p", "f", "j", "c")
    progress(page, "2 of 3")
    press(page, "u")
    progress(page, "1 of 3")
    expect(page.locator("details[open]")).to_have_attribute("data-number", "2")
    press(page, "u")
    expect(page.locator("details[open]")).to_have_attribute("data-number", "1")
    expect(page.locator("details[open] .choice-pass")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#progress")).to_contain_text("1 of 3")
    page.wait_for_function("() => !document.querySelector('.htmx-request')")
    assert list(DraftGrade.objects.order_by("checkpoint__position").values_list("value", flat=True)) == ["pass", ""]


def test_a_save_that_fails_is_shown_and_sent_again_until_it_arrives(page_as, batch):
    page = page_as("annotator", expected=("ERR_", "htmx:"))
    cut = threading.Event()
    # Before the page is opened: a browser may send the first request after a late interception past it.
    page.route("**/grades/**", lambda route: route.abort() if cut.is_set() else route.continue_())
    begin(page)
    cut.set()
    press(page, "p")
    expect(page.locator("#unsaved")).to_contain_text("Not saved: checkpoint 1. The server does not answer.")
    press(page, "Control+Enter")
    assert "/reveal/" not in page.url
    cut.clear()
    expect(page.locator("#unsaved")).to_be_hidden()
    progress(page, "1 of 3")
    assert DraftGrade.objects.get().value == "pass"


def test_the_page_works_without_javascript(page_as, batch):
    page = page_as("annotator", java_script_enabled=False)
    page.goto("/annotate/")
    page.get_by_role("button", name="Grade the next").click()
    for number in range(1, 4):
        page.locator("details[open] .choice-pass").click()
        progress(page, f"{number} of 3")
        if number < 3:
            page.locator(f"#checkpoint-{number + 1} summary").click()
    page.get_by_role("button", name="Submit and next").click()
    page.wait_for_url("**/reveal/")
    assert Verdict.objects.filter(source="human", value="pass").count() == 3


@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 800}, {"width": 390, "height": 844}])
def test_no_page_scrolls_sideways(page_as, batch, viewport):
    page = page_as("admin", viewport=viewport)
    for path in ("/annotate/", "/annotate/batches/new/", "/adjudicate/", "/agreement/"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0, path
    begin(page)
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def chosen(position):
    return DraftGrade.objects.filter(checkpoint__position=position).values_list("anchor", flat=True).first()


def wait_until_saved(page):
    page.wait_for_function("() => !document.querySelector('.htmx-request')")


def test_a_comment_points_at_a_part_by_key_and_by_mouse_and_the_adjudicator_sees_it_in_the_raters_shade(
    page_as, run, batch
):
    ann = page_as("annotator")
    begin(ann)
    press(ann, "f", "a", "j", "j", "Enter")  # from the request over the look-up to the call
    expect(ann.locator("select[name^=anchor-]").first).to_have_value("call:1")
    wait_until_saved(ann)
    assert chosen(0) == "call:1"
    press(ann, "j", "p")
    ann.get_by_role("button", name="Point at it").locator("visible=true").click()
    expect(ann.locator("#pointing")).to_be_visible()
    ann.locator("[data-part='argument:party']").click()
    expect(ann.locator("#pointing")).to_be_hidden()
    expect(ann.locator("[data-part='argument:party']")).to_have_class(re.compile("anchored"))
    press(ann, "k")
    expect(ann.locator("[data-part='argument:party']")).not_to_have_class(re.compile("anchored"))
    press(ann, "j", "j", "p", "a", "f", "Escape")  # while pointing no grade is given
    progress(ann, "3 of 3")
    wait_until_saved(ann)
    assert (chosen(1), chosen(2)) == ("argument:party", "")
    press(ann, "Control+Enter")
    ann.wait_for_url("**/reveal/")
    expect(ann.locator("a.points-at").first).to_have_attribute("href", "#call:1")

    ben = page_as("second annotator")
    begin(ben)
    press(ben, "p", "j", "p", "j", "p")
    progress(ben, "3 of 3")
    press(ben, "Control+Enter")
    ben.wait_for_url("**/reveal/")

    otto = page_as("adjudicator")
    otto.goto("/adjudicate/")
    press(otto, "g")
    otto.wait_for_url(re.compile(r"/adjudicate/\d+/\d+/"))
    letter = otto.locator(".verdict-column:has(a.points-at) .letter").inner_text()
    mark = otto.locator("[data-part='call:1']")
    expect(mark).to_have_class(re.compile(f"shade-{letter.lower()}"))
    shade = mark.evaluate("(el) => getComputedStyle(el).backgroundColor")
    assert shade == otto.locator(f".rater-{letter.lower()} .letter").evaluate(
        "(el) => getComputedStyle(el).backgroundColor"
    )
    otto.locator("a.points-at").click()
    assert otto.url.endswith("#call:1")


def test_a_second_tab_neither_undoes_a_comment_nor_submits_grades_that_it_does_not_show(page_as, batch):
    first = page_as("annotator", expected=("422",))
    begin(first)
    second = first.context.new_page()
    second.goto(first.url)
    press(second, "f", "n")
    second.keyboard.type("The table is for three.")
    press(second, "Escape")
    progress(second, "1 of 3")
    wait_until_saved(second)
    press(first, "p", "j", "p", "j", "p")
    progress(first, "3 of 3")
    wait_until_saved(first)
    assert DraftGrade.objects.get(checkpoint__position=0).comment == "The table is for three."
    press(second, "Control+Enter")
    expect(second.locator("#submit-error")).to_contain_text("checkpoint 1, 2, 3 was graded anew in another tab")
    expect(second.locator("details[open] .choice-pass")).to_have_attribute("aria-pressed", "true")
    press(second, "Control+Enter")
    second.wait_for_url("**/reveal/")
    assert Verdict.objects.get(source="human", checkpoint__position=0).rationale == "The table is for three."


def test_a_session_that_ends_in_the_middle_costs_nothing_once_the_rater_signs_in_again(page_as, batch, cast):
    cast["ann"].set_password("correct horse battery")
    cast["ann"].save()
    page = page_as("annotator")
    begin(page)
    Session.objects.all().delete()
    press(page, "p")
    expect(page.locator("#unsaved")).to_contain_text("You are signed out; sign in in another tab.")
    assert not DraftGrade.objects.exists()
    other = page.context.new_page()
    other.goto("/login/?next=/annotate/")
    other.fill("[name=username]", "ann")
    other.fill("[name=password]", "correct horse battery")
    press(other, "Enter")
    other.wait_for_url("**/annotate/")
    expect(page.locator("#unsaved")).to_be_hidden()
    progress(page, "1 of 3")
    press(page, "j", "p", "j", "p")
    progress(page, "3 of 3")
    press(page, "Control+Enter")
    page.wait_for_url("**/reveal/")


def test_the_back_button_after_a_submit_shows_what_was_submitted_and_no_form(page_as, batch):
    page = page_as("annotator")
    begin(page)
    press(page, "p", "j", "p", "j", "p")
    progress(page, "3 of 3")
    press(page, "Control+Enter")
    page.wait_for_url("**/reveal/")
    page.go_back()
    page.wait_for_url("**/reveal/")
    assert Verdict.objects.filter(source="human").count() == 3


def test_a_part_is_chosen_without_javascript_too(page_as, batch):
    page = page_as("annotator", java_script_enabled=False)
    page.goto("/annotate/")
    page.get_by_role("button", name="Grade the next").click()
    page.locator("details[open] select").select_option("argument:party")
    page.locator("details[open] .choice-fail").click()
    progress(page, "1 of 3")
    assert chosen(0) == "argument:party"
