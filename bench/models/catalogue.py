"""What the authored catalogue holds, as rows that others can point to. Written by load_catalogue only."""

from __future__ import annotations

from django.db import models


class Domain(models.Model):
    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=80)
    summary = models.TextField()
    position = models.PositiveSmallIntegerField()
    data_version = models.CharField(max_length=12)

    class Meta:
        ordering = ["position"]

    def __str__(self) -> str:
        return self.name


class Dimension(models.Model):
    domain = models.ForeignKey(Domain, models.CASCADE, related_name="dimensions")
    slug = models.SlugField()
    name = models.CharField(max_length=80)
    question = models.TextField()
    options = models.JSONField(help_text="[{slug, label, description}], public")
    data_version = models.CharField(max_length=12)

    class Meta:
        ordering = ["domain__position", "slug"]
        constraints = [models.UniqueConstraint(fields=["domain", "slug"], name="dimension_slug_unique_in_domain")]

    def __str__(self) -> str:
        return self.reference

    @property
    def reference(self) -> str:
        return f"{self.domain.slug}.{self.slug}"


class Scenario(models.Model):
    domain = models.ForeignKey(Domain, models.CASCADE, related_name="scenarios")
    slug = models.SlugField()
    name = models.CharField(max_length=120)
    summary = models.TextField()
    action_kind = models.CharField(max_length=8, choices=[("generate", "Text"), ("call_api", "API call")])
    data_version = models.CharField(max_length=12)

    class Meta:
        ordering = ["domain__position", "slug"]
        constraints = [models.UniqueConstraint(fields=["domain", "slug"], name="scenario_slug_unique_in_domain")]

    def __str__(self) -> str:
        return f"{self.domain.slug}.{self.slug}"
