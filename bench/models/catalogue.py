"""What the authored catalogue holds, as rows that others can point to. Written by load_catalogue only."""

from __future__ import annotations

from typing import Self, TypeVar

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


M = TypeVar("M", bound=models.Model)


class Versioned(models.QuerySet[M]):
    """Rows of every version that was ever loaded: a dataset keeps the words that it was made with."""

    def current(self) -> Self:
        """Those of the catalogue as it was loaded last."""
        return self.filter(data_version=models.F("domain__data_version"))


class Dimension(models.Model):
    domain = models.ForeignKey(Domain, models.CASCADE, related_name="dimensions")
    slug = models.SlugField()
    name = models.CharField(max_length=80)
    question = models.TextField()
    options = models.JSONField(help_text="[{slug, label, description}], public; none of a regularity")
    answer = models.CharField(
        max_length=8, blank=True, default="", help_text="of a regularity: amount, number, time or weekday"
    )
    data_version = models.CharField(max_length=12)

    objects = Versioned.as_manager()

    class Meta:
        ordering = ["domain__position", "slug"]
        constraints = [
            models.UniqueConstraint(fields=["domain", "slug", "data_version"], name="dimension_once_a_version")
        ]

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

    objects = Versioned.as_manager()

    class Meta:
        ordering = ["domain__position", "slug"]
        constraints = [
            models.UniqueConstraint(fields=["domain", "slug", "data_version"], name="scenario_once_a_version")
        ]

    def __str__(self) -> str:
        return f"{self.domain.slug}.{self.slug}"
