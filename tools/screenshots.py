"""`make screenshots`: the two pictures of the README, from the running demo site, by the browser of the tests."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
HOME = Path(os.environ.get("IBA_HOME") or ROOT / ".iba")
SITE = f"http://127.0.0.1:{os.environ.get('PORT', '8000')}"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def main() -> None:
    from bench.files import write_file

    logins = dict(line.split() for line in (HOME / "demo_logins").read_text().splitlines())
    path = os.environ.get("CHROMIUM") or next((found for name in BROWSERS if (found := shutil.which(name))), None)
    folder = ROOT / "docs" / "images"
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 860}, color_scheme="light")
        page.goto(f"{SITE}/login/")
        page.fill("[name=username]", "admin")
        page.fill("[name=password]", logins["admin"])
        page.press("[name=password]", "Enter")
        page.wait_for_url(f"{SITE}/")
        write_file(folder / "dashboard.png", page.screenshot())
        page.goto(sys.argv[1] if len(sys.argv) > 1 else f"{SITE}{_some_trajectory(page)}")
        write_file(folder / "trajectory.png", page.screenshot())
        browser.close()
    print(f"wrote {folder}/dashboard.png and trajectory.png")


def _some_trajectory(page: Page) -> str:
    """The first trajectory of IBA-Agent that the newest run links to."""
    page.goto(f"{SITE}/runs/")
    run = page.locator("main a[href^='/runs/']").first.get_attribute("href")
    number = str(run).strip("/").split("/")[-1]
    page.goto(f"{SITE}/trajectories/?run={number}&method=iba")
    return str(page.locator("a[href^='/trajectories/']").first.get_attribute("href"))


if __name__ == "__main__":
    main()
