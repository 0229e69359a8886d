"""The short form of `make soak`: every service is killed while a run goes on. See docs/reliability.md."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.bench.live import ROOT


@pytest.mark.timeout(600)
def test_a_run_during_which_every_service_is_killed_loses_doubles_and_fails_nothing(tmp_path_factory):
    home = tmp_path_factory.mktemp("soak")
    short = ["--seconds", "6", "--kills", "7", "--size", "tiny", "--limit", "6", "--latency", "0.3", "--seed", "1"]
    command = [sys.executable, "tools/soak.py", *short]
    environment = {**os.environ, "IBA_HOME": str(home)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert sum(found["kills"].values()) == 7
    assert found["units"] == found["runs"] * 18  # 6 tasks x 3 methods
