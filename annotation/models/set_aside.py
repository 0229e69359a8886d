from __future__ import annotations

from django.db import models

from bench.models import Trajectory


class SetAside(models.Model):
    """A trajectory whose page cannot be drawn. Nobody is handed it until an administrator puts it back."""

    trajectory = models.OneToOneField(Trajectory, models.CASCADE, related_name="set_aside")
    reason = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.trajectory}: {self.reason}"
