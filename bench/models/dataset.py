from __future__ import annotations

from django.db import models


class DatasetQuerySet(models.QuerySet["Dataset"]):
    def newest(self, name: str) -> Dataset | None:
        """The highest version under this name, or None."""
        return self.filter(name=name, complete=True).order_by("-version").first()


class Dataset(models.Model):
    """One frozen version of personas, histories and tasks. A changed input makes a new version."""

    name = models.SlugField(max_length=60)
    version = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    seed = models.IntegerField()
    size = models.CharField(max_length=20)
    noise = models.FloatField(help_text="0..1, share of events that show nothing")
    author = models.CharField(max_length=20)
    data_version = models.CharField(max_length=12)
    source = models.CharField(max_length=20, default="generated")
    complete = models.BooleanField(default=False, help_text="False while rows are being written")
    summary = models.JSONField(default=dict, help_text="What build_dataset reported")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = DatasetQuerySet.as_manager()

    class Meta:
        ordering = ["name", "-version"]
        constraints = [
            models.UniqueConstraint(fields=["name", "version"], name="dataset_version_unique"),
            models.CheckConstraint(
                condition=models.Q(noise__gte=0) & models.Q(noise__lt=1), name="dataset_noise_in_0_1"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"
