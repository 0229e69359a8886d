"""An address that names a run shows that run, or 404; an address that names none gets one with methods that rank."""

import pytest

from tests.pages.conftest import finish, make_dataset, make_run

PAGES = ("/", "/domains/dining/", "/compare/", "/agreement/")
NO_RUNS = ("999999", "0", "abc", "-1", "1.0", "\uff11", "9" * 20, "1 2", "\x00")


@pytest.mark.parametrize("address", PAGES)
def test_an_older_run_of_the_same_dataset_and_model_is_shown_if_named(viewer, finished, address):
    newer = finish(make_run(finished.dataset))
    assert newer.pk > finished.pk
    page = viewer.get(address, {"run": finished.pk})
    assert page.context["run"].pk == finished.pk
    if address != "/domains/dining/":  # which has no list of runs
        assert f'<option value="{finished.pk}" selected' in page.content.decode()


@pytest.mark.parametrize("address", PAGES)
def test_a_simulated_run_is_shown_if_named_beside_real_ones(viewer, finished, address):
    simulated = finish(make_run(make_dataset("other", "b")), simulated=True)
    page = viewer.get(address, {"run": simulated.pk})
    assert page.context["run"].pk == simulated.pk
    assert "simulated" in page.content.decode()


@pytest.mark.parametrize("address", PAGES)
def test_a_run_that_still_works_is_shown_if_named(viewer, finished, address):
    running = make_run(finished.dataset)
    assert viewer.get(address, {"run": running.pk}).context["run"].pk == running.pk


@pytest.mark.parametrize("asked", NO_RUNS)
@pytest.mark.parametrize("address", [*PAGES, "/trajectories/"])
def test_an_address_that_names_no_run_is_not_found(viewer, finished, address, asked):
    assert viewer.get(address, {"run": asked}).status_code == 404


@pytest.mark.parametrize("asked", NO_RUNS)
def test_a_comparison_with_no_run_is_not_found(viewer, finished, asked):
    assert viewer.get("/compare/", {"run": finished.pk, "with": asked}).status_code == 404


@pytest.mark.parametrize("address", ["/", "/compare/"])
def test_a_newer_run_of_the_oracle_alone_hides_no_other_run(viewer, finished, address):
    oracle = finish(make_run(finished.dataset, ("oracle",)))
    page = viewer.get(address)
    assert page.context["run"].pk == finished.pk
    offered = page.content.decode()
    assert f'<option value="{finished.pk}"' in offered
    assert f'<option value="{oracle.pk}"' in offered
