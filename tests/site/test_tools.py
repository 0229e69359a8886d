"""The set-up scripts on machines that lack something."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.soak import Stopwatch

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def bare_path(tmp_path):
    """A PATH with next to nothing on it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("bash", "dirname", "env", "id"):
        (folder / name).symlink_to(shutil.which(name))
    return folder


def program(folder, name, text):
    path = folder / name
    path.write_text(f"#!{shutil.which('bash')}\n{text}\n")
    path.chmod(0o755)


def run(script, path, **environment):
    command = [shutil.which("bash"), f"tools/{script}"]
    return subprocess.run(
        command, cwd=ROOT, env={"PATH": str(path), **environment}, capture_output=True, text=True, timeout=100
    )


def test_a_python_that_is_too_old_is_named_with_the_versions_that_work(bare_path):
    program(bare_path, "python3", '[ "$1" = --version ] && echo "Python 3.9.2" && exit 0; exit 1')
    done = run("setup", bare_path)
    assert done.returncode == 1
    assert "error: Python 3.11, 3.12 or 3.13 is needed; found Python 3.9.2." in done.stderr
    assert "PYTHON=/path/to/python make setup" in done.stderr


def test_no_python_at_all_is_said_too(bare_path):
    done = run("setup", bare_path)
    assert done.returncode == 1
    assert "found no python3" in done.stderr


def test_without_any_browser_the_message_names_the_remedies(bare_path, tmp_path):
    done = run("browser", bare_path, PLAYWRIGHT_BROWSERS_PATH=str(tmp_path / "none"), HOME=str(tmp_path))
    assert done.returncode == 1
    assert "error: no browser for the tests. Install Chromium or Chrome, or set CHROMIUM=/path/to/it" in done.stderr


def test_a_browser_on_the_path_or_in_chromium_is_enough(bare_path, tmp_path):
    program(bare_path, "google-chrome", "exit 0")
    assert run("browser", bare_path).returncode == 0
    (bare_path / "google-chrome").rename(tmp_path / "my-browser")
    assert run("browser", bare_path, CHROMIUM=str(tmp_path / "my-browser")).returncode == 0


@pytest.mark.parametrize("script", ["setup", "browser", "test"])
def test_scripts_can_be_run_and_parse(script):
    assert os.access(ROOT / "tools" / script, os.X_OK)
    assert subprocess.run(["bash", "-n", ROOT / "tools" / script], timeout=30).returncode == 0


def test_a_machine_that_stood_still_gets_no_kills_all_at_once_in_a_soak():
    watch = Stopwatch(100.0, 5000.0)
    watch.look(100.25, 5000.25)
    watch.look(700.25, 5600.25)  # ten minutes in which nothing ran
    assert watch.passed_s == 0.25 + 5  # what it stood still beyond 5 s does not count
    assert (watch.stood_still_s, watch.clock_set_by_s) == ([600.0], [])


def test_a_time_of_day_that_is_set_changes_nothing_in_a_soak_and_is_reported():
    watch = Stopwatch(100.0, 5000.0)
    watch.look(100.5, 8600.5)  # set forward by an hour
    watch.look(101.0, 1400.0)  # and back by two
    assert watch.passed_s == 1.0
    assert (watch.stood_still_s, watch.clock_set_by_s) == ([], [3600.0, -7201.0])
