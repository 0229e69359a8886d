"""Pages of a dataset's version that fails its checks, and of runs on it, say so."""

from __future__ import annotations

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from bench.generation.validity.gate import Gate
from bench.generation.validity.marking import mark
from bench.generation.validity.shortcut import Shortcut
from bench.models import Dataset, Run
from bench.pages.numbers import plain
from tests.pages.conftest import HOSTILE, finish, make_endpoints, make_run
from tests.pages.test_run_pages import wish

BROKEN = Gate(f"requests that tell {HOSTILE}", 2.0, "0", 50, passed=False, offenders=("the secret answer",))
FAR = Shortcut("signal or noise by words", 0.759, 0.6, 2864)
INVALID, LIMITS = 'data-validity="invalid"', 'data-validity="limits"'


def addresses(run: Run, dataset: Dataset) -> list[str]:
    persona = dataset.personas.first()
    trajectory = run.units.filter(trajectory__isnull=False).first().trajectory
    return [
        reverse("dataset", args=[dataset.name]),
        reverse("persona", args=[dataset.name, persona.slug]),
        reverse("run-detail", args=[run.pk]),
        f"/?run={run.pk}&simulated=1",
        f"/domains/dining/?run={run.pk}&simulated=1",
        f"/compare/?run={run.pk}",
        reverse("trajectory", args=[trajectory.pk]),
    ]


@pytest.fixture
def finished(dataset):
    run = make_run(dataset)
    finish(run)
    return run


def test_every_page_of_an_invalid_version_has_a_banner_and_none_of_a_valid_one(admin, dataset, finished):
    mark(dataset, [], [])
    for address in addresses(finished, dataset):
        assertNotContains(admin.get(address), "data-validity")
    mark(dataset, [BROKEN], [])
    for address in addresses(finished, dataset):
        response = admin.get(address)
        assertContains(response, INVALID, count=1)
        assertNotContains(response, HOSTILE)
        assertNotContains(response, "the secret answer")


@pytest.mark.parametrize("address", ["/datasets/", "/runs/", "/trajectories/", "/search/?q=small", "/search/?q=qwen"])
def test_lists_mark_an_invalid_version_in_its_row(admin, dataset, finished, address):
    assertNotContains(admin.get(address), "invalid dataset")
    mark(dataset, [BROKEN], [])
    assertContains(admin.get(address), "invalid dataset")


def test_limits_that_are_not_met_are_named_on_the_pages_of_dataset_and_run(viewer, dataset, finished):
    mark(dataset, [], [FAR])
    for address in addresses(finished, dataset)[0], addresses(finished, dataset)[2]:
        response = viewer.get(address)
        assertContains(response, LIMITS, count=1)
        assertContains(response, "signal or noise by words: 0.759 (at most 0.6)")
        assertNotContains(response, INVALID)


def test_a_version_that_nobody_checked_says_so(viewer, dataset):
    assertContains(viewer.get(reverse("dataset", args=[dataset.name])), "not checked")


def test_the_launch_page_refuses_an_invalid_version_beside_its_field_and_takes_the_switch(admin, dataset):
    make_endpoints()
    mark(dataset, [BROKEN], [])
    assertContains(admin.get(reverse("run-units"), wish()), "fails its checks")
    assertContains(admin.get(reverse("run-units"), wish(even_if_invalid="on")), "Launch 12 units")
    refused = admin.post(reverse("run-new"), wish())
    assertContains(refused, "fails its checks", status_code=422)
    assert not Run.objects.exists()


def test_a_share_just_below_its_limit_does_not_read_as_the_limit():
    # 40 of 806, where 5% is asked for
    assert plain(40 / 806) == "0.0496"
    assert (plain(3.0), plain(0.759), plain(None)) == ("3", "0.759", "–")
