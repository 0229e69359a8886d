"""One table of verdicts. Append-only: a trigger refuses UPDATE and DELETE; the latest of a source counts."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from bench.models.task import Checkpoint
from bench.models.trajectory import Trajectory


class Verdict(models.Model):
    trajectory = models.ForeignKey(Trajectory, models.PROTECT, related_name="verdicts")
    checkpoint = models.ForeignKey(Checkpoint, models.PROTECT, related_name="verdicts")
    rubric_version = models.CharField(max_length=20)
    source = models.CharField(
        max_length=12,
        choices=[("rule", "rule"), ("judge", "AI judge"), ("human", "human"), ("adjudication", "adjudication")],
    )
    name = models.CharField(max_length=160, help_text="rule set, judge or rater")
    rater = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="verdicts")
    value = models.CharField(
        max_length=12,
        blank=True,
        choices=[("pass", "pass"), ("fail", "fail"), ("cannot_judge", "cannot judge"), ("", "unscored")],
        help_text="empty: this source was asked and gave no usable verdict",
    )
    rationale = models.TextField(blank=True, default="")
    anchor = models.CharField(
        max_length=200, blank=True, default="", help_text="part of the trajectory that the rationale is about"
    )
    raw = models.TextField(blank=True, default="")
    contradicts = models.BooleanField(default=False, help_text="the rationale says the opposite of the value")
    own_family = models.BooleanField(default=False, help_text="judge of the agent's own model family")
    simulated = models.BooleanField(default=False)
    cost_usd = models.FloatField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["trajectory", "checkpoint"], name="verdict_trajectory_checkpoint")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(source__in=["rule", "judge"]) | models.Q(rater__isnull=False),
                name="verdict_of_a_person_has_a_rater",
            ),
        ]


class ScoreQuerySet(models.QuerySet["CheckpointScore"]):
    def to_adjudicate(self) -> ScoreQuerySet:
        """What an adjudicator has to settle, the oldest trajectory first."""
        return self.filter(needs_adjudication=True).order_by("trajectory_id", "checkpoint__position")


class CheckpointScore(models.Model):
    """What the verdicts add up to, computed by bench.grading.store; never edited by hand."""

    trajectory = models.ForeignKey(Trajectory, models.CASCADE, related_name="scores")
    checkpoint = models.ForeignKey(Checkpoint, models.CASCADE, related_name="scores")
    combined = models.CharField(max_length=12, blank=True, help_text="pass or fail; empty: unscored")
    origin = models.CharField(max_length=16, blank=True)
    ai = models.CharField(max_length=12, blank=True, help_text="rules and panel only")
    human = models.CharField(max_length=12, blank=True, help_text="raters and adjudication only")
    reason = models.TextField(blank=True, default="")
    needs_adjudication = models.BooleanField(default=False)
    adjudication_reason = models.TextField(blank=True, default="")
    flags = models.JSONField(default=list, help_text="bench.grading.types.Flag values")
    escalate = models.CharField(max_length=80, blank=True, default="", help_text="why a human should look")
    gap = models.CharField(max_length=20, blank=True, default="", help_text="stage that lost a failed preference")

    objects = ScoreQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["trajectory", "checkpoint"], name="score_once_a_checkpoint"),
        ]
        indexes = [
            models.Index(fields=["gap"], name="score_gap", condition=~models.Q(gap="")),
            models.Index(
                fields=["trajectory"], name="score_to_adjudicate", condition=models.Q(needs_adjudication=True)
            ),
        ]
