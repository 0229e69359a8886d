"""What readers of a dataset were asked, and what they answered. Never shown to whoever still reads."""

from __future__ import annotations

from django.db import models

from bench.models.dataset import Dataset
from bench.models.persona import Event
from bench.models.run import Run
from bench.models.task import Checkpoint


class ErratumQuerySet(models.QuerySet["Erratum"]):
    def in_force(self) -> ErratumQuerySet:
        return self.filter(put_back_at__isnull=True)


class Erratum(models.Model):
    """A checkpoint that was found wrong and retired. Putting it back ends the erratum; the row stays."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="errata")
    checkpoint = models.ForeignKey(Checkpoint, models.CASCADE, related_name="errata")
    revision = models.PositiveIntegerField(help_text="of the dataset, from which on it holds")
    reason = models.TextField()
    by = models.CharField(max_length=150)
    retired_at = models.DateTimeField(auto_now_add=True)
    put_back_at = models.DateTimeField(null=True, blank=True)
    put_back_by = models.CharField(max_length=150, blank=True, default="")

    objects = ErratumQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["checkpoint"], condition=models.Q(put_back_at__isnull=True), name="erratum_once_in_force"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.checkpoint_id}: {self.reason}"


class AuditQuestion(models.Model):
    """One question of a quiz: about a preference checkpoint, or in mode ``cue`` about an event. Holds gold."""

    public_id = models.CharField(max_length=16, unique=True)
    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="audit_questions")
    mode = models.CharField(max_length=60, help_text="cue, gold, full, none or retrieved:METHOD")
    run = models.ForeignKey(Run, models.CASCADE, null=True, blank=True, related_name="+")
    checkpoint = models.ForeignKey(Checkpoint, models.CASCADE, null=True, blank=True, related_name="audit_questions")
    event = models.ForeignKey(Event, models.CASCADE, null=True, blank=True, related_name="audit_questions")
    options = models.JSONField(help_text="[[public id, value], ..] in the order shown")

    class Meta:
        ordering = ["dataset", "public_id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(checkpoint__isnull=False) ^ models.Q(event__isnull=False),
                name="audit_question_about_one_thing",
            ),
        ]

    def __str__(self) -> str:
        return self.public_id


class ReaderKind(models.TextChoices):
    HUMAN = "human", "human"
    MODEL = "model", "model"


class AuditAnswer(models.Model):
    question = models.ForeignKey(AuditQuestion, models.CASCADE, related_name="answers")
    reader = models.CharField(max_length=80)
    kind = models.CharField(max_length=5, choices=ReaderKind.choices)
    value = models.CharField(max_length=64, blank=True, default="", help_text="empty: picked none")
    remarks = models.JSONField(default=list, help_text="ids of bench.audit.shapes.REMARKS")
    comment = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["question", "reader"], name="audit_answer_once_a_reader"),
        ]

    def __str__(self) -> str:
        return f"{self.reader}: {self.value or '-'}"
