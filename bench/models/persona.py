"""Personas and their histories. What an agent may see (Event) and gold (EventLabel) are separate tables."""

from __future__ import annotations

from datetime import datetime

from django.db import models
from pgvector.django import VectorField

from bench.models.dataset import Dataset


class Split(models.TextChoices):
    DEV = "dev", "dev"
    TEST = "test", "test"


class Persona(models.Model):
    """A simulated user with the paper's four facets. Traits and states are gold."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="personas")
    slug = models.SlugField(max_length=80)
    name = models.CharField(max_length=120)
    split = models.CharField(max_length=4, choices=Split.choices)
    background = models.JSONField(default=dict)
    traits = models.JSONField(default=list)
    states = models.JSONField(default=list)
    roles = models.JSONField(default=list)

    class Meta:
        ordering = ["dataset", "slug"]
        constraints = [models.UniqueConstraint(fields=["dataset", "slug"], name="persona_slug_unique_in_dataset")]

    def __str__(self) -> str:
        return self.name


class EventQuerySet(models.QuerySet["Event"]):
    def visible(self, persona_id: int, as_of: datetime) -> EventQuerySet:
        """Events that existed when the task was asked; nothing later is ever visible to an agent."""
        return self.filter(persona_id=persona_id, occurred_at__lt=as_of)


class Event(models.Model):
    persona = models.ForeignKey(Persona, models.CASCADE, related_name="events")
    position = models.PositiveIntegerField(help_text="0-based, in order of time")
    occurred_at = models.DateTimeField()
    channel = models.CharField(max_length=20)
    session = models.CharField(max_length=40, default="", blank=True)
    text = models.TextField()
    text_sha256 = models.CharField(max_length=64)

    objects = EventQuerySet.as_manager()

    class Meta:
        ordering = ["persona", "position"]
        constraints = [models.UniqueConstraint(fields=["persona", "position"], name="event_position_unique")]
        indexes = [
            models.Index(fields=["persona", "occurred_at"], name="event_persona_time"),
            models.Index(fields=["text_sha256"], name="event_text_sha256"),  # labels are looked up by it
        ]

    def __str__(self) -> str:
        return f"{self.occurred_at:%Y-%m-%d} {self.channel}: {self.text[:60]}"


class EventRole(models.TextChoices):
    CUE = "cue", "cue"
    CONDITION = "condition", "conditional cue"
    DRIFT = "drift", "reason for a change"
    AGAINST = "against", "rules a value out"
    REGULAR = "regular", "one of the records of a habit"
    RECORD = "record", "an earlier choice between two preferences"
    STATE_START = "state_start", "start of a state"
    STATE_COURSE = "state_course", "course of a state"
    STATE_END = "state_end", "end of a state"
    DISTRACTOR = "distractor", "distractor"
    EVERYDAY = "everyday", "everyday"


class EventLabel(models.Model):
    """Gold: what an event shows. Never sent to an agent or to a rater before the reveal."""

    event = models.OneToOneField(Event, models.CASCADE, related_name="label", primary_key=True)
    role = models.CharField(max_length=12, choices=EventRole.choices)
    dimension = models.CharField(max_length=80, blank=True, default="")
    value = models.CharField(max_length=64, blank=True, default="")
    group = models.CharField(max_length=80, blank=True, default="", help_text="state or condition it belongs to")
    why = models.TextField(blank=True, default="")

    def __str__(self) -> str:
        return f"{self.role} {self.dimension}={self.value}"


class TextVector(models.Model):
    """Embeddings cached by text: one row a (model, kind, sha256 of the text)."""

    model = models.CharField(max_length=80)
    kind = models.CharField(max_length=8)
    text_sha256 = models.CharField(max_length=64)
    vector = VectorField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["model", "kind", "text_sha256"], name="text_vector_unique"),
        ]


class EventVector(models.Model):
    """A piece of an event's text, embedded; the best piece speaks for the event.

    It stands beside its persona, so that the exact scan of one persona reads one index range.
    """

    event = models.ForeignKey(Event, models.CASCADE, related_name="vectors")
    persona = models.ForeignKey(Persona, models.CASCADE, related_name="+", db_index=False)
    model = models.CharField(max_length=80)
    piece = models.PositiveSmallIntegerField(
        default=0, db_default=0, help_text="place in the text, see bench/search/pieces.py"
    )
    vector = VectorField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["persona", "model", "event", "piece"], name="event_vector_piece_unique"),
        ]
