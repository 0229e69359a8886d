"""What units wait for: a service of ours or a model's endpoint that does not answer. See bench/runs/outages.py."""

from __future__ import annotations

from django.db import models


class OutageRow(models.Model):
    """From the first failure until something answers again; then the row goes."""

    away = models.CharField(max_length=200, primary_key=True, help_text="as people call it, such as Redis")
    endpoint = models.CharField(max_length=160, blank=True, default="", help_text="its name, where it is one")
    since = models.DateTimeField()
    failures = models.PositiveIntegerField(default=1, help_text="in a row, over all workers")
    is_open = models.BooleanField(help_text="units wait; false while too few have failed")
    reason = models.TextField()
    probe_at = models.DateTimeField(help_text="when it is asked again whether it is back")
    probes = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering = ["since", "away"]

    def __str__(self) -> str:
        return f"{self.away} since {self.since:%H:%M}"
