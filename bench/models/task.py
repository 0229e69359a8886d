from __future__ import annotations

from django.db import models

from bench.models.catalogue import Scenario
from bench.models.persona import Event, Persona


class TaskQuerySet(models.QuerySet["Task"]):
    def of_dataset(self, dataset_id: int) -> TaskQuerySet:
        return self.filter(persona__dataset_id=dataset_id)


class Task(models.Model):
    """One instance: a request at a moment of a persona's life, in a scenario, with its world."""

    persona = models.ForeignKey(Persona, models.CASCADE, related_name="tasks")
    scenario = models.ForeignKey(Scenario, models.PROTECT, related_name="tasks")
    slug = models.SlugField(max_length=120)
    request = models.TextField()
    as_of = models.DateTimeField()
    context = models.CharField(max_length=40, blank=True, default="", help_text="gold: condition that holds")
    tools = models.JSONField(default=list, help_text="public tool specifications")
    world = models.JSONField(default=dict, help_text="items behind the look-ups; never sent whole")

    objects = TaskQuerySet.as_manager()

    class Meta:
        ordering = ["persona", "slug"]
        constraints = [models.UniqueConstraint(fields=["persona", "slug"], name="task_slug_unique_in_persona")]

    def __str__(self) -> str:
        return self.slug


class CheckpointKind(models.TextChoices):
    TASK = "task", "task"
    PREFERENCE = "preference", "preference"


class Checkpoint(models.Model):
    """One fact about the action, decidable by yes or no. Everything here is gold."""

    task = models.ForeignKey(Task, models.CASCADE, related_name="checkpoints")
    position = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=10, choices=CheckpointKind.choices)
    text = models.TextField()
    rule = models.JSONField(null=True, blank=True, help_text="see docs/scoring.md; null: judged by reading")
    dimension = models.CharField(max_length=80, blank=True, default="")
    value = models.CharField(max_length=64, blank=True, default="")
    losing_values = models.JSONField(default=list, help_text="values that held once or hold elsewhere")
    conflict = models.CharField(max_length=20, blank=True, default="")
    tier = models.CharField(max_length=10, blank=True, default="", help_text="of a preference: how much settles it")
    answer = models.CharField(
        max_length=8, blank=True, default="", help_text="of a regularity: amount, number, time or weekday"
    )
    tolerance = models.FloatField(default=0.0, help_text="how far such an answer may lie from the value")
    evidence = models.ManyToManyField(Event, related_name="+", blank=True)
    retired = models.BooleanField(default=False, help_text="found wrong: asked of nobody, counted nowhere")

    class Meta:
        ordering = ["task", "position"]
        constraints = [
            models.UniqueConstraint(fields=["task", "position"], name="checkpoint_position_unique"),
            models.CheckConstraint(
                condition=models.Q(kind="task") | ~models.Q(dimension=""),
                name="preference_checkpoint_has_dimension",
            ),
        ]

    def __str__(self) -> str:
        return self.text
