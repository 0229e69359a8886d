from __future__ import annotations

from typing import TypedDict

from django.db import models


class CheckRow(TypedDict):
    """What one check found. ``blocks``: no run on a version that fails it, unless asked for."""

    name: str
    value: float | None
    limit: str
    n: int
    passed: bool
    blocks: bool


class Validity(TypedDict):
    """What the checks found, as the API and exports say it. ``valid`` is null where nothing was checked.

    ``revision`` counts the errata of this version; scores of all its runs leave ``retired_checkpoints`` out.
    """

    valid: bool | None
    revision: int
    retired_checkpoints: int
    checked_at: str | None
    failed_gates: list[CheckRow]
    limits_not_met: list[CheckRow]


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
    valid = models.BooleanField(null=True, blank=True, help_text="whether all blocking checks hold; null: not checked")
    checked_at = models.DateTimeField(null=True, blank=True)
    checks = models.JSONField(default=list, blank=True, help_text="rows of bench.models.dataset.CheckRow")
    revision = models.PositiveIntegerField(default=0, help_text="counted up when checkpoints are retired or put back")
    checks_sha256 = models.CharField(max_length=64, default="", blank=True, help_text="hash of the code that checked")

    objects = DatasetQuerySet.as_manager()

    class Meta:
        ordering = ["name", "-version"]
        constraints = [
            models.UniqueConstraint(fields=["name", "version"], name="dataset_version_unique"),
            models.CheckConstraint(
                condition=models.Q(noise__gte=0) & models.Q(noise__lt=1), name="dataset_noise_in_0_1"
            ),
            models.CheckConstraint(
                condition=models.Q(valid__isnull=True, checked_at__isnull=True)
                | models.Q(valid__isnull=False, checked_at__isnull=False),
                name="dataset_valid_once_checked",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} v{self.version}" + (f".{self.revision}" if self.revision else "")

    @property
    def failed_gates(self) -> list[CheckRow]:
        """What marks this version as invalid."""
        return [row for row in self.checks if row["blocks"] and not row["passed"]]

    @property
    def limits_not_met(self) -> list[CheckRow]:
        """What whoever reads its numbers has to know, and what forbids no run."""
        return [row for row in self.checks if not row["blocks"] and not row["passed"]]

    @property
    def validity(self) -> Validity:
        return {
            "valid": self.valid,
            "revision": self.revision,
            "retired_checkpoints": self.errata.in_force().count() if self.revision else 0,
            "checked_at": self.checked_at.isoformat() if self.checked_at else None,
            "failed_gates": self.failed_gates,
            "limits_not_met": self.limits_not_met,
        }


class RejectedText(models.Model):
    """A text that a model wrote for an event and that code or the critic turned down, with the reason.

    It belongs to no history. ``position``: of the event in the history of the persona of that slug.
    """

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="rejected_texts")
    persona = models.CharField(max_length=80)
    position = models.PositiveIntegerField()
    writer = models.CharField(max_length=12, help_text="writer, noise or assistant")
    text = models.TextField(blank=True)
    reason = models.TextField()

    class Meta:
        ordering = ["persona", "position", "pk"]
