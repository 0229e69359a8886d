"""Write the catalogue to its tables. Running it twice changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import transaction

from bench.catalogue.load import Catalogue, DomainData
from bench.models import Dimension, Domain, Scenario


@transaction.atomic
def store_catalogue(catalogue: Catalogue) -> dict[str, int | str]:
    """Add what this version says, and move the domains to it; returns the counts that load_catalogue reports.

    Dimensions and scenarios of earlier versions stay as they are: their datasets go on with the old words.
    """
    version = catalogue.data_version
    Domain.objects.bulk_create(
        (
            Domain(
                slug=slug, name=data.domain.name, summary=data.domain.summary, position=position, data_version=version
            )
            for position, (slug, data) in enumerate(catalogue.domains.items())
        ),
        update_conflicts=True,
        unique_fields=["slug"],
        update_fields=["name", "summary", "position", "data_version"],
    )
    domains = {domain.slug: domain for domain in Domain.objects.filter(slug__in=catalogue.domains)}
    rows = [(domains[slug], data) for slug, data in catalogue.domains.items()]
    Dimension.objects.bulk_create(
        (row for domain, data in rows for row in _dimensions(domain, data, version)), ignore_conflicts=True
    )
    Scenario.objects.bulk_create(
        (row for domain, data in rows for row in _scenarios(domain, data, version)), ignore_conflicts=True
    )
    return {**catalogue.counts(), "data_version": version}


def _dimensions(domain: Domain, data: DomainData, version: str) -> Iterator[Dimension]:
    """Those with options to choose from, listed by the alphabet so that a place tells nothing, then those whose
    answers are typed."""
    for dimension in data.dimensions.values():
        values = sorted(dimension.values, key=lambda value: value.label)
        options = [{"slug": v.slug, "label": v.label, "description": v.description} for v in values]
        yield Dimension(
            domain=domain, slug=dimension.slug, data_version=version, name=dimension.name,
            question=dimension.question, options=options,
        )  # fmt: skip
    for regularity in data.regularities.values():
        yield Dimension(
            domain=domain, slug=regularity.slug, data_version=version, name=regularity.name,
            question=regularity.question, options=[], answer=regularity.answer,
        )  # fmt: skip


def _scenarios(domain: Domain, data: DomainData, version: str) -> Iterator[Scenario]:
    for scenario in data.scenarios.values():
        yield Scenario(
            domain=domain, slug=scenario.slug, data_version=version, name=scenario.name, summary=scenario.summary,
            action_kind=scenario.action,
        )  # fmt: skip
