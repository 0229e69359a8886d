from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models

from bench.models import Checkpoint, Run, Trajectory


class Batch(models.Model):
    """A set of trajectories of one run that a number of raters should grade."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="batches")
    name = models.CharField(max_length=80)
    raters_wanted = models.PositiveSmallIntegerField(default=2)
    rubric_version = models.CharField(max_length=20)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)
    trajectories = models.ManyToManyField(Trajectory, related_name="batches")

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    def open_for(self, rater_id: int, now: datetime) -> AssignmentQuerySet:
        return self.filter(rater_id=rater_id, committed_at__isnull=True, lease_until__gt=now)


class Assignment(models.Model):
    """One rater on one trajectory. The lease ends by itself, so a closed browser blocks nobody."""

    batch = models.ForeignKey(Batch, models.CASCADE, related_name="assignments")
    trajectory = models.ForeignKey(Trajectory, models.CASCADE, related_name="assignments")
    rater = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="assignments")
    lease_until = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True)
    committed_at = models.DateTimeField(null=True, blank=True)

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["batch", "trajectory", "rater"], name="assignment_once_a_rater"),
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
