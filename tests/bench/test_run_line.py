"""The whole line once: four methods on the stand-in, with a real worker, queue, search and judges."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.models import ModelCall, Trajectory, Unit
from bench.results.report import results_of
from bench.results.rows import METRICS
from bench.runs.launch import launch_run
from bench.runs.spec import RunSpec
from tests.bench.live import canonical, wait_until_over

METHODS = ["iba", "rag", "recency", "no_history"]

pytestmark = pytest.mark.django_db(transaction=True)


def measures(run):
    names = ("method", "planned", "evaluated", "errors", "unscored", "evidence_recall", "by_domain", *METRICS)
    return [{name: cell[name] for name in names} for cell in results_of(run)["cells"]]


def test_four_methods_are_scored_and_a_second_run_replays_every_call_and_says_the_same(tiny, offline, worker):
    wish = {"dataset": "tiny", "methods": METHODS, "model": "offline", "limit": 4, "seed": 3, "max_in_flight": 8}
    first = wait_until_over(launch_run(RunSpec(**wish)))

    units = Unit.objects.filter(run=first)
    assert Counter(units.values_list("status", flat=True)) == {"scored": 16}, list(
        units.values_list("error", flat=True)
    )
    assert Trajectory.objects.count() == 16
    for cell in results_of(first)["cells"]:
        assert cell["planned"] == 4
        assert cell["evaluated"] + cell["errors"] + cell["unscored"] == 4
        assert cell["errors"] == 0
        assert cell["evaluated"] == 4
        assert cell["simulated"] is True
        assert all(0 <= cell[metric]["mean"] <= 1 and cell[metric]["n"] == 4 for metric in METRICS)

    # What was answered stands in the books, once.
    bought = offline.bought
    assert not offline.bought_again
    assert bought == Counter(map(canonical, ModelCall.objects.values_list("request", flat=True)))

    offline.begin()
    second = wait_until_over(launch_run(RunSpec(**wish)))
    assert offline.exchanges == []
    assert second.manifest_sha256 == first.manifest_sha256
    assert measures(second) == measures(first)
