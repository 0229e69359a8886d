"""The pages of results in a real browser. ``page_as(role)`` is a page of somebody in that role."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.pages.conftest import finish, make_dataset, make_endpoints, make_run


@pytest.fixture
def finished(cast):
    return finish(make_run(make_dataset()))


def test_a_number_leads_down_to_the_trajectory_and_its_evidence(page_as, finished):
    page = page_as("viewer")
    page.goto("/")
    expect(page.get_by_role("heading", name="All domains")).to_be_visible()
    expect(page.locator(".chart .wide svg")).to_be_visible()
    page.get_by_role("link", name="1.00 (0.24–1.00)").click()
    page.get_by_role("row").nth(1).get_by_role("link").first.click()
    expect(page.get_by_text("lost at:")).to_be_visible()
    expect(page.get_by_text("not seen").first).to_be_visible()


@pytest.mark.parametrize("path", ["/", "/domains/dining/", "/runs/", "/compare/", "/trajectories/", "/datasets/small/"])
def test_no_page_is_wider_than_a_phone(path, page_as, finished):
    page = page_as("viewer", viewport={"width": 390, "height": 844})
    page.goto(path)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_the_theme_switch_has_three_states_and_is_remembered(page_as, finished):
    page = page_as("viewer")
    page.goto("/")
    switch = page.locator("[data-theme-switch]")
    expect(switch).to_have_attribute("aria-label", "Theme: system")
    switch.click()
    switch.click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    switch.click()
    expect(switch).to_have_attribute("aria-label", "Theme: system")


def test_lists_move_by_keyboard_and_the_question_mark_explains(page_as, finished):
    page = page_as("viewer")
    page.goto("/trajectories/")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("next, previous row")
    page.keyboard.press("Escape")
    for key in "jjk":
        page.keyboard.press(key)
    expect(page.locator("tr[data-row]").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/trajectories/\d+/$"))


def test_the_launch_button_follows_the_form_and_refusals_stay_on_the_page(page_as, cast):
    make_dataset()
    make_endpoints()
    page = page_as("admin", expected=("422",))
    page.goto("/runs/new/")
    page.get_by_label("Model").select_option("qwen")
    expect(page.locator("#launch-units")).to_contain_text("judges must be named")
    page.get_by_label("judge-a", exact=True).check()
    # 6 tasks x 4 methods
    expect(page.get_by_role("button", name="Launch 24 units")).to_be_visible()
    page.get_by_label("Repeats").fill("99")
    page.locator("#launch-units button").click()
    expect(page.get_by_text("less than or equal to 20").first).to_be_visible()
    expect(page).to_have_url(re.compile(r"/runs/new/$"))


def test_a_live_run_shows_what_changed_without_a_reload(page_as, cast):
    run = make_run(make_dataset())
    page = page_as("admin")
    page.goto(f"/runs/{run.pk}/")
    expect(page.locator("#run-live")).to_contain_text("0 of 12")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    finish(run)
    expect(page.get_by_role("heading", name="Results")).to_be_visible()
    expect(page.locator("#run-live")).not_to_have_attribute("hx-trigger", "every 2s")
