"""Runs and their units of work. A unit is claimed by a conditional UPDATE; see bench/runs/claim.py."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Sum
from django.utils.functional import cached_property

from bench.models.dataset import Dataset
from bench.models.task import Task


class RunStatus(models.TextChoices):
    RUNNING = "running", "running"
    PAUSED = "paused", "paused"
    DONE = "done", "done"
    CANCELLED = "cancelled", "cancelled"

    @property
    def is_over(self) -> bool:
        return self in (RunStatus.DONE, RunStatus.CANCELLED)


class Run(models.Model):
    dataset = models.ForeignKey(Dataset, models.PROTECT, related_name="runs")
    status = models.CharField(max_length=10, choices=RunStatus.choices, default=RunStatus.RUNNING)
    manifest = models.JSONField()
    manifest_sha256 = models.CharField(max_length=64)
    simulated = models.BooleanField()
    gold_seen = models.BooleanField(
        default=False, help_text="who brought the agent had been shown gold of the dataset before"
    )
    even_if_invalid = models.BooleanField(
        default=False, help_text="started although the dataset's version fails its checks"
    )
    model = models.CharField(max_length=160)
    max_in_flight = models.PositiveIntegerField(default=64)
    budget_usd = models.FloatField(null=True, blank=True)
    spent_usd = models.FloatField(default=0)
    budget_hit = models.BooleanField(default=False)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    # What is kept counts while its version is the count of changes; see results/kept.py.
    results = models.JSONField(null=True, blank=True, help_text="cells and pairs; null: to be computed anew")
    results_version = models.PositiveBigIntegerField(null=True, blank=True)
    agreement = models.JSONField(null=True, blank=True, help_text="who agrees with whom; null: to be computed anew")
    agreement_version = models.PositiveBigIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"run {self.pk}"

    @cached_property
    def scores_version(self) -> int:
        """How often what its numbers are made of had changed when this was first asked."""
        return self.score_changes.aggregate(n=Sum("n"))["n"] or 0

    def refresh_from_db(
        self,
        using: str | None = None,
        fields: Iterable[str] | None = None,
        from_queryset: models.QuerySet[Self] | None = None,
    ) -> None:
        """Forgets the version too, so that it is as new as the rest."""
        vars(self).pop("scores_version", None)
        super().refresh_from_db(using, fields, from_queryset)


class ScoreChanges(models.Model):
    """How often what a run's numbers are made of has changed: the sum over its parts, which triggers count up.

    Each connection has a part of its own, so that of those who grade one run nobody waits for another's commit.
    The database removes the rows with their run (a trigger may add one while the run is being deleted).
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="score_changes", db_constraint=False, db_index=False)
    part = models.PositiveSmallIntegerField()
    n = models.PositiveBigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "part"], name="score_changes_once_a_part")]


class UnitStatus(models.TextChoices):
    QUEUED = "queued", "queued"
    RUNNING = "running", "running"
    ACTED = "acted", "waiting for judges"
    JUDGING = "judging", "being judged"
    SCORED = "scored", "scored"
    FAILED = "failed", "failed"
    CANCELLED = "cancelled", "cancelled"


OPEN_STATUSES = (UnitStatus.QUEUED, UnitStatus.RUNNING, UnitStatus.ACTED, UnitStatus.JUDGING)


class Unit(models.Model):
    """One (run, task, method, repeat)."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="units")
    task = models.ForeignKey(Task, models.PROTECT, related_name="units")
    method = models.CharField(max_length=40, help_text="registry name, an ablation included")
    repeat = models.PositiveSmallIntegerField(default=0)
    status = models.CharField(max_length=10, choices=UnitStatus.choices, default=UnitStatus.QUEUED)
    claimed_by = models.CharField(max_length=80, blank=True, default="")
    lease_until = models.DateTimeField(null=True, blank=True)
    enqueued_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    waits = models.PositiveSmallIntegerField(default=0, help_text="how often in a row it went back")
    waits_for = models.CharField(max_length=200, blank=True, default="", help_text="what was away; see OutageRow")
    wait_until = models.DateTimeField(null=True, blank=True)
    error = models.TextField(blank=True, default="")
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["run", "id"]
        constraints = [
            models.UniqueConstraint(fields=["run", "task", "method", "repeat"], name="unit_once"),
        ]
        indexes = [
            models.Index(fields=["run", "status"], name="unit_run_status"),
            models.Index(
                fields=["lease_until"],
                name="unit_leased",
                condition=models.Q(status__in=["running", "judging"]),
            ),
            models.Index(fields=["wait_until"], name="unit_waits", condition=models.Q(wait_until__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"unit {self.pk} {self.method}"


class ModelCall(models.Model):
    """Everything that was bought from a model. Found by key before anything is bought again."""

    key = models.CharField(max_length=64, unique=True)
    endpoint = models.CharField(max_length=60)
    model = models.CharField(max_length=160)
    stage = models.CharField(max_length=40)
    unit = models.ForeignKey(Unit, models.SET_NULL, null=True, blank=True, related_name="calls")
    request = models.JSONField()
    response = models.JSONField()
    tokens_in = models.PositiveIntegerField(default=0)
    tokens_out = models.PositiveIntegerField(default=0)
    cost_usd = models.FloatField(default=0)
    latency_s = models.FloatField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["unit", "stage"], name="model_call_unit_stage")]
