"""Datasets and personas whose names cannot stand in an address get a slug; a persona keeps its name for display."""

import hashlib
import re

from django.db import migrations
from django.utils.text import slugify

SLUG = re.compile(r"[A-Za-z0-9_-]+")


def slug_of(name, longest):
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{slugify(name)[: longest - 9].strip('-_') or 'name'}-{digest}"


def give_slugs(apps, schema_editor):
    for dataset in apps.get_model("bench", "Dataset").objects.all():
        if not SLUG.fullmatch(dataset.name):
            dataset.name = slug_of(dataset.name, 60)
            dataset.save(update_fields=["name"])
    for persona in apps.get_model("bench", "Persona").objects.filter(dataset__source__in=["jsonl", "locomo"]):
        if not SLUG.fullmatch(persona.slug):
            persona.slug = slug_of(persona.slug, 80)
            persona.save(update_fields=["slug"])


class Migration(migrations.Migration):
    dependencies = [
        ("bench", "0011_scopes_and_external_record"),
    ]

    operations = [migrations.RunPython(give_slugs, migrations.RunPython.noop)]
