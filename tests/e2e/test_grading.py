"""From a rater's first key to the changed number on the dashboard."""

import re
import threading

import pytest
from playwright.sync_api import expect

from annotation.batches import Choice, create_batch
from annotation.models import Batch, DraftGrade
from bench.models import Run, Verdict
from bench.scoring.results import results_of
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
