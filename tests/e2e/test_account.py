"""A token from its making to its end, as a person does it."""

from __future__ import annotations

import re

import httpx
from playwright.sync_api import expect


def test_a_token_is_made_copied_used_and_revoked(page_as, live_server):
    page = page_as("admin", expected=("422",))
    page.goto("/runs/")
    page.get_by_title("Account and API tokens").click()
    page.get_by_role("button", name="Make the token").click()
    expect(page.get_by_text("Give it a name, so that you know it later.")).to_be_visible()
    page.get_by_label("Name").fill("notebook")
    page.get_by_role("checkbox", name=re.compile("^read ")).check()
    page.get_by_role("button", name="Make the token").click()
    token = page.locator("[data-token]").inner_text()

    def answer() -> int:
        return httpx.get(f"{live_server.url}/api/runs", headers={"Authorization": f"Bearer {token}"}).status_code

    assert answer() == 200
    page.reload()
    expect(page.get_by_role("rowheader", name="notebook")).to_be_visible()
    assert token not in page.content()
    revoke = page.get_by_role("button", name="Revoke notebook", exact=True)
    expect(revoke).to_be_hidden()
    page.locator("summary", has_text="Revoke").click()
    revoke.click()
    expect(page.get_by_text("notebook is revoked.")).to_be_visible()
    assert answer() == 401
