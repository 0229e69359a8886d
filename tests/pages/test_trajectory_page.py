"""What the page of a trajectory says of replies that were cut and tokens that were estimated."""

from __future__ import annotations

from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from bench.models import Trajectory
from tests.pages.conftest import trajectory_of

LIMIT = "ended at the token limit"


def page_of(client, trajectory: Trajectory):
    return client.get(reverse("trajectory", args=[trajectory.pk]))


def with_cuts(trajectory: Trajectory) -> Trajectory:
    first, *rest = trajectory.data["steps"]
    trajectory.data["steps"] = [{**first, "cut": {"reasoning_chars": 12345, "at_token_limit": True}}, *rest]
    trajectory.data["action"]["at_token_limit"] = True
    trajectory.data["usage"]["estimated_calls"] = 2
    trajectory.save()
    return trajectory


def test_what_was_cut_and_what_was_estimated_is_shown_where_it_was(viewer, finished):
    page = page_of(viewer, with_cuts(trajectory_of(finished, "iba")))
    assertContains(page, "12,345 characters of reasoning cut", count=1)
    assertContains(page, LIMIT, count=2)  # beside the step and above the action
    assertContains(page, "2 estimated")


def test_a_whole_trajectory_says_nothing_of_cuts(viewer, finished):
    page = page_of(viewer, trajectory_of(finished, "iba"))
    for words in (LIMIT, "reasoning cut", " estimated"):
        assertNotContains(page, words)


def test_a_rater_does_not_see_the_page(annotator, finished):
    assert page_of(annotator, trajectory_of(finished, "iba")).status_code in (403, 404)
