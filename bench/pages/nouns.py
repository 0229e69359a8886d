"""One access helper a noun: 404 where there is none, 403 where the role may not see it."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.shortcuts import get_object_or_404

from bench.access import Visitor, may_see_results, role_of
from bench.asked import number
from bench.models import Dataset, Domain, Persona, Run, Trajectory


def check_results(user: Visitor) -> None:
    """Raises PermissionDenied for a role that must stay blind to results."""
    if not may_see_results(user):
        raise PermissionDenied(f"Results are not for your role, {role_of(user) or 'none'}.")


def see_run(user: Visitor, pk: int) -> Run:
    check_results(user)
    return get_object_or_404(Run.objects.select_related("dataset", "created_by"), pk=pk)


def see_run_named(user: Visitor, asked: str) -> Run | None:
    """The run whose number an address gives, None where it gives none; 404 for what is no run, never another run."""
    check_results(user)
    if not asked:
        return None
    pk = number(asked)
    if pk is None:
        raise Http404(f"There is no run {asked[:20]!r}; /runs/ lists them.")
    return see_run(user, pk)


def see_trajectory(user: Visitor, pk: int) -> Trajectory:
    check_results(user)
    related = ("unit__run__dataset", "unit__task__scenario__domain", "unit__task__persona")
    return get_object_or_404(Trajectory.objects.select_related(*related), pk=pk)


def see_domain(user: Visitor, slug: str) -> Domain:
    check_results(user)
    return get_object_or_404(Domain, slug=slug)


def see_dataset(user: Visitor, name: str) -> Dataset:
    """The newest complete version of that name."""
    check_results(user)
    dataset = Dataset.objects.newest(name)
    if dataset is None:
        raise Http404(f"there is no dataset {name!r}")
    return dataset


def see_persona(user: Visitor, dataset_name: str, slug: str) -> Persona:
    dataset = see_dataset(user, dataset_name)
    return get_object_or_404(Persona.objects.select_related("dataset"), dataset=dataset, slug=slug)
