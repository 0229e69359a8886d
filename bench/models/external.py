from __future__ import annotations

from django.conf import settings
from django.db import models

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
