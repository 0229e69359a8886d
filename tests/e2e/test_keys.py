"""Every page says its keys, and every list moves with j and k."""

import pytest
from playwright.sync_api import expect

from annotation.batches import Choice, create_batch
from bench.models import Trajectory
from bench.tokens import make_token
from tests.annotation.factories import grade, make_run

LISTS = (
    "/", "/domains/dining/", "/runs/", "/runs/1/", "/compare/", "/trajectories/", "/trajectories/1/",
    "/annotate/", "/annotate/batches/new/", "/adjudicate/", "/agreement/", "/datasets/", "/datasets/small/",
    "/datasets/small/personas/p0/", "/search/?q=Person", "/account/",
)  # fmt: skip


@pytest.fixture
def run(cast):
    """Graded in part, in dispute in part, and with a batch that waits."""
    made = make_run(personas=2)
    make_token(user=cast["ada"], name="notebook")
    meal = Trajectory.objects.filter(unit__task__slug="meal").first()
    for name, value in (("ann", "pass"), ("ben", "fail")):
        grade(meal, cast[name], {0: value, 1: value})
    create_batch(run=made, choice=Choice.DOMAIN, domain="dining", size=4, raters_wanted=2, created_by=cast["ada"])
    return made


def address(path, run):
    """The path with the ids that this database gave."""
    first = Trajectory.objects.order_by("pk").first().pk
    return path.replace("/runs/1/", f"/runs/{run.pk}/").replace("/trajectories/1/", f"/trajectories/{first}/")


def test_the_question_mark_lists_the_keys_of_every_page(page_as, run):
    admin = page_as("admin", expected=("404", "403"))
    case = "/adjudicate/"
    admin.goto(case)
    admin.keyboard.press("g")
    admin.wait_for_url("**/adjudicate/*/*/")
    for path in (*LISTS, admin.url, "/runs/new/", "/nowhere/"):
        admin.goto(address(path, run))
        admin.keyboard.press("?")
        expect(admin.locator("dialog#keys"), path).to_be_visible()
        assert "show or hide this list" in admin.locator("dialog#keys").inner_text(), path
        admin.keyboard.press("?")
        expect(admin.locator("dialog#keys"), path).to_be_hidden()
    rater = page_as("annotator", expected=("403",))
    for path in ("/annotate/", "/runs/"):
        rater.goto(path)
        rater.keyboard.press("?")
        expect(rater.locator("dialog#keys"), path).to_be_visible()


def focused_row(page):
    return page.evaluate("[...document.querySelectorAll('[data-row]')].indexOf(document.activeElement)")


def test_every_list_moves_with_j_and_k(page_as, run):
    page = page_as("admin")
    for path in LISTS:
        page.goto(address(path, run))
        page.keyboard.press("j")
        first = focused_row(page)
        assert first >= 0, path
        page.keyboard.press("j")
        assert (focused_row(page) > first) == (page.locator("[data-row]:visible").count() > 1), path
        page.keyboard.press("k")
        assert focused_row(page) == first, path


def test_the_keys_are_listed_while_pointing_and_on_the_sign_in_page(page_as, run):
    page = page_as("annotator")
    page.goto("/annotate/")
    page.keyboard.press("g")
    page.wait_for_url("**/annotate/*/")
    page.keyboard.press("a")
    expect(page.locator("#pointing")).to_be_visible()
    page.keyboard.press("?")
    expect(page.locator("dialog#keys")).to_contain_text("point at the part that the comment is about")
    stranger = page_as(None)
    stranger.goto("/login/")
    stranger.keyboard.press("Escape")  # leaves the field that has the focus
    stranger.keyboard.press("?")
    expect(stranger.locator("dialog#keys")).to_be_visible()
