"""From the outcomes of checkpoints to the three measures of a trajectory, and what may be shown of many."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.grading.types import VerdictValue

HEADLINE_COVERAGE = 0.95  # our decision: below this share of planned trajectories no headline number is shown


@dataclass(frozen=True, slots=True)
class TrajectoryScores:
    """Each 0..1, or None where a checkpoint it needs is unscored (or there is none).

    ``behaviour_accuracy``: share of the task checkpoints passed.
    ``preference_satisfaction``: share of the preference checkpoints passed.
    ``task_success``: 1 where every checkpoint passed, else 0.
    """

    behaviour_accuracy: float | None
    preference_satisfaction: float | None
    task_success: float | None


def trajectory_scores(
    task: Sequence[VerdictValue | None], preference: Sequence[VerdictValue | None]
) -> TrajectoryScores:
    """The measures of one trajectory from its combined outcomes. None among the values means unscored.

    A trajectory with an unscored checkpoint has no task success, also where
    another checkpoint failed: to count only its failures would bias the mean.
    """
    every = _share([*task, *preference])
    success = None if every is None else float(every == 1)
    return TrajectoryScores(_share(task), _share(preference), success)


def _share(values: Sequence[VerdictValue | None]) -> float | None:
    if not values or any(value is None or not value.decides for value in values):
        return None
    return sum(value is VerdictValue.PASS for value in values) / len(values)


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


def product_of_rates(rates: Iterable[float]) -> float:
    """All-pass rate (0..1) if the checkpoints of a task failed independently: the product of their rates."""
    return math.prod(rates)
