from __future__ import annotations

from django.conf import settings
from django.db import models

from bench.models import Dataset, Run, Task


class Reading(models.Model):
    """A blind quiz over one dataset version that raters answer on the site."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="readings")
    modes = models.CharField(max_length=200, help_text="of bench.audit.quiz, with commas")
    run = models.ForeignKey(Run, models.CASCADE, null=True, blank=True, related_name="+")
    readers_wanted = models.PositiveSmallIntegerField(default=2)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"reading {self.pk}"


class ReadingItem(models.Model):
    """What a reader sees, kept as it was made: a bench.audit.shapes.Item. ``task`` is null for a single event."""

    reading = models.ForeignKey(Reading, models.CASCADE, related_name="items")
    public_id = models.CharField(max_length=16)
    content = models.JSONField()
    task = models.ForeignKey(Task, models.CASCADE, null=True, blank=True, related_name="+")

    class Meta:
        ordering = ["reading", "public_id"]
        constraints = [
            models.UniqueConstraint(fields=["reading", "public_id"], name="reading_item_once"),
        ]


class Seat(models.Model):
    """One reader on one item. ``draft``: question id -> {option, remark, comment} as they stand on the page."""

    item = models.ForeignKey(ReadingItem, models.CASCADE, related_name="seats")
    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="seats")
    draft = models.JSONField(default=dict)
    begun_at = models.DateTimeField(auto_now_add=True)
    saved_at = models.DateTimeField(null=True, blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["item", "reader"], name="seat_once_a_reader"),
        ]
