from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models


class Endpoint(models.Model):
    """A registered model behind the OpenAI protocol. The key is a reference to the environment or encrypted."""

    slug = models.SlugField(unique=True)
    base_url = models.URLField()
    model = models.CharField(max_length=120)
    family = models.CharField(max_length=40, help_text="model family; a judge of the agent's own family is marked")
    key_env = models.CharField(max_length=80, blank=True, default="", help_text="environment variable with the key")
    key_encrypted = models.BinaryField(null=True, blank=True)
    context_tokens = models.PositiveIntegerField(default=32768)
    price_in_per_mtok_usd = models.FloatField(default=0)
    price_out_per_mtok_usd = models.FloatField(default=0)
    max_in_flight = models.PositiveIntegerField(default=32)
    requests_per_minute = models.PositiveIntegerField(default=600)
    tokens_per_minute = models.PositiveIntegerField(default=1_000_000)
    timeout_s = models.FloatField(default=120)
    reasoning = models.BooleanField(default=False)
    system_role = models.BooleanField(
        null=True,
        blank=True,
        default=None,
        help_text="whether the model takes a system message; unknown counts as yes, and the next launch asks",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.slug


class ApiToken(models.Model):
    """A token for the HTTP API; only its sha256 is stored."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=60)
    token_sha256 = models.CharField(max_length=64, unique=True)
    scopes = ArrayField(models.CharField(max_length=10), default=list, help_text="bench.tokens.Scope values")
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.user} {self.name}"
