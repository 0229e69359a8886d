"""Both denominators of a measure, and whether it may be shown."""

from __future__ import annotations

from dataclasses import dataclass

HEADLINE_COVERAGE = 0.95  # our decision: below this share of planned trajectories no headline number is shown


@dataclass(frozen=True, slots=True)
class Coverage:
    """Both denominators. ``evaluated`` of ``planned`` trajectories have a score."""

    planned: int
    evaluated: int

    @property
    def share(self) -> float:
        """0..1; 0 where nothing was planned."""
        return self.evaluated / self.planned if self.planned else 0.0

    @property
    def headline(self) -> bool:
        """Whether a headline number may be shown."""
        return self.planned > 0 and self.share >= HEADLINE_COVERAGE
