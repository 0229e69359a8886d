"""Write the catalogue to its tables. Running it twice changes nothing."""

from __future__ import annotations

from django.db import transaction

from bench.catalogue.load import Catalogue
from bench.models import Dimension, Domain, Scenario


@transaction.atomic
def store_catalogue(catalogue: Catalogue) -> dict[str, int | str]:
    """Add what this version says, and move the domains to it; returns the counts that load_catalogue reports.

    Dimensions and scenarios of earlier versions stay as they are: their datasets go on with the old words.
    """
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
            Dimension.objects.get_or_create(
                domain=domain,
                slug=dimension.slug,
                data_version=version,
                defaults={"name": dimension.name, "question": dimension.question, "options": options},
            )
        for regularity in data.regularities.values():
            words = {
                "name": regularity.name,
                "question": regularity.question,
                "options": [],
                "answer": regularity.answer,
            }
            Dimension.objects.get_or_create(domain=domain, slug=regularity.slug, data_version=version, defaults=words)
        for scenario in data.scenarios.values():
            Scenario.objects.get_or_create(
                domain=domain,
                slug=scenario.slug,
                data_version=version,
                defaults={"name": scenario.name, "summary": scenario.summary, "action_kind": scenario.action},
            )
    return {**catalogue.counts(), "data_version": version}
