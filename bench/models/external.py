from __future__ import annotations

from django.conf import settings
from django.db import models

from bench.models.dataset import Dataset
from bench.models.run import Unit


class ExternalSession(models.Model):
    """What an agent elsewhere has been given and has done so far for one unit, so that it may stop and go on."""

    unit = models.OneToOneField(Unit, models.CASCADE, related_name="external")
    served = models.JSONField(default=list, help_text="evidence handed out, in order, as the agent saw it")
    committed = models.JSONField(default=list, help_text="accepted committing calls")
    tool_calls = models.PositiveIntegerField(default=0, help_text="those that found or did something")
    record = models.JSONField(default=list, help_text="searches and tool calls as they were answered, in order")
    workers = models.ManyToManyField(settings.AUTH_USER_MODEL, blank=True, help_text="whose tokens were given the unit")
    created_at = models.DateTimeField(auto_now_add=True)


class GoldReading(models.Model):
    """That somebody's token was shown gold of a dataset. Binds the agents that he brings; see bench/runs/fence.py."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="gold_readings")
    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="gold_readings")
    first_at = models.DateTimeField(auto_now_add=True)
    last_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "dataset"], name="gold_reading_once")]

    def __str__(self) -> str:
        return f"{self.user} {self.dataset}"
