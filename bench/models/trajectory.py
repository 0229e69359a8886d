from __future__ import annotations

from django.db import models

from bench.models.run import Unit


class Trajectory(models.Model):
    """What an agent did in one unit, whole and unchanged, with the columns that lists and measures need."""

    unit = models.OneToOneField(Unit, models.CASCADE, related_name="trajectory")
    termination = models.CharField(max_length=20)
    infrastructure = models.BooleanField(default=False, help_text="ended for a reason that is not the agent's")
    data = models.JSONField(help_text="agents.contract.serialise.to_json")
    committed = models.JSONField(default=list, help_text="accepted committing calls, in order")
    evidence_recall = models.FloatField(null=True, blank=True, help_text="0..1; null: no gold evidence")
    settled = models.FloatField(
        null=True, blank=True, help_text="0..1, preference checkpoints that the evidence settles; null: it has none"
    )
    over_applied = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="planned constraints that should not hold; null: the method draws none"
    )
    llm_calls = models.PositiveIntegerField(default=0)
    tokens_in = models.PositiveIntegerField(default=0)
    tokens_out = models.PositiveIntegerField(default=0)
    cost_usd = models.FloatField(default=0)
    wall_s = models.FloatField(default=0)
    audit = models.BooleanField(default=False, help_text="in the random audit slice for raters")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"trajectory {self.pk}"
