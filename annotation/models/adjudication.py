from __future__ import annotations

from django.conf import settings
from django.db import models

from bench.models import Checkpoint, Trajectory, Verdict


class AdjudicationQuerySet(models.QuerySet["AdjudicationItem"]):
    def pending(self) -> AdjudicationQuerySet:
        return self.filter(settled_at__isnull=True)


class AdjudicationItem(models.Model):
    """A checkpoint that raters (or raters and panel) disagree on. A changed input opens it again."""

    trajectory = models.ForeignKey(Trajectory, models.CASCADE, related_name="adjudication_items")
    checkpoint = models.ForeignKey(Checkpoint, models.CASCADE, related_name="adjudication_items")
    reason = models.CharField(max_length=80)
    opened_at = models.DateTimeField(auto_now_add=True)
    settled_at = models.DateTimeField(null=True, blank=True)
    settled_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+")
    verdict = models.ForeignKey(Verdict, models.PROTECT, null=True, blank=True, related_name="+")
    inputs_sha256 = models.CharField(max_length=64, help_text="hash of the verdicts that it was opened for")

    objects = AdjudicationQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["trajectory", "checkpoint"], name="adjudication_once_a_checkpoint"),
        ]
