from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from bench.models import Checkpoint, Run, Trajectory


class Batch(models.Model):
    """A set of trajectories of one run that a number of raters should grade."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="batches")
    name = models.CharField(max_length=80)
    raters_wanted = models.PositiveSmallIntegerField(default=2)
    rubric_version = models.CharField(max_length=20)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)
    trajectories = models.ManyToManyField(Trajectory, related_name="batches", through="annotation.Place")

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name


class Assignment(models.Model):
    """One rater on one trajectory. A lease that has ended frees the seat for others, so a closed browser blocks nobody.

    ``seated``: counts in its place's ``taken``, as every submitted one does. Only ``annotation.queue`` changes it.
    """

    batch = models.ForeignKey(Batch, models.CASCADE, related_name="assignments")
    trajectory = models.ForeignKey(Trajectory, models.CASCADE, related_name="assignments")
    rater = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="assignments")
    lease_until = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True)
    committed_at = models.DateTimeField(null=True, blank=True)
    seated = models.BooleanField(default=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["batch", "trajectory", "rater"], name="assignment_once_a_rater"),
            models.CheckConstraint(
                condition=Q(committed_at__isnull=True) | Q(seated=True), name="assignment_submitted_is_seated"
            ),
        ]
        indexes = [
            models.Index(
                fields=["lease_until"], condition=Q(committed_at__isnull=True, seated=True), name="assignment_leased"
            ),
        ]


class DraftGrade(models.Model):
    """A grade as it is being given; becomes a verdict when the rater submits."""

    assignment = models.ForeignKey(Assignment, models.CASCADE, related_name="drafts")
    checkpoint = models.ForeignKey(Checkpoint, models.CASCADE, related_name="+")
    value = models.CharField(
        max_length=12,
        blank=True,
        choices=[("pass", "pass"), ("fail", "fail"), ("cannot_judge", "cannot judge")],
    )
    comment = models.TextField(blank=True, default="", max_length=2000)
    anchor = models.CharField(max_length=200, blank=True, default="", help_text="an agents.contract.Part as text")
    saved_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["assignment", "checkpoint"], name="draft_once_a_checkpoint"),
        ]
