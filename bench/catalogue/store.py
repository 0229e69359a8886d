"""Write the catalogue to its tables. Running it twice changes nothing."""

from __future__ import annotations

from django.db import transaction

from bench.catalogue.load import Catalogue
from bench.models import Dimension, Domain, Scenario


@transaction.atomic
def store_catalogue(catalogue: Catalogue) -> dict[str, int | str]:
    """Upsert domains, dimensions and scenarios by slug; returns the counts that load_catalogue reports."""
    version = catalogue.data_version
    for position, (slug, data) in enumerate(catalogue.domains.items()):
        domain, _ = Domain.objects.update_or_create(
            slug=slug,
            defaults={
                "name": data.domain.name,
                "summary": data.domain.summary,
                "position": position,
                "data_version": version,
            },
        )
        for dimension in data.dimensions.values():
            options = [{"slug": v.slug, "label": v.label, "description": v.description} for v in dimension.values]
            Dimension.objects.update_or_create(
                domain=domain,
                slug=dimension.slug,
                defaults={
                    "name": dimension.name,
                    "question": dimension.question,
                    "options": options,
                    "data_version": version,
                },
            )
        for scenario in data.scenarios.values():
            Scenario.objects.update_or_create(
                domain=domain,
                slug=scenario.slug,
                defaults={
                    "name": scenario.name,
                    "summary": scenario.summary,
                    "action_kind": scenario.action,
                    "data_version": version,
                },
            )
    return {**catalogue.counts(), "data_version": version}
