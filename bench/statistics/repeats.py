"""Several trials of one task: mean@k, pass@k and pass^k."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import comb
from typing import TypedDict

from bench.statistics.intervals import Measure, MeasureJson, clustered_mean


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """Chance (0..1) that at least one of k trials succeeds: 1 - C(n-c, k) / C(n, k).

    ``n`` trials of which ``c`` succeeded. None where n < k: the trials are
    not there. Unbiased; Chen et al. 2021, "Evaluating Large Language Models
    Trained on Code" (arXiv 2107.03374). Raises ValueError unless 0 <= c <= n
    and k >= 1.
    """
    _validate(n, c, k)
    return None if n < k else 1 - comb(n - c, k) / comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float | None:
    """Chance (0..1) that all of k trials succeed: C(c, k) / C(n, k).

    Arguments, None and errors as in ``pass_at_k``. Yao et al. 2024,
    "tau-bench" (arXiv 2406.12045).
    """
    _validate(n, c, k)
    return None if n < k else comb(c, k) / comb(n, k)


def _validate(n: int, c: int, k: int) -> None:
    if k < 1:
        raise ValueError(f"k is {k}; 1 or more is right")
    if not 0 <= c <= n:
        raise ValueError(f"{c} successes of {n} trials; 0 <= successes <= trials is right")


class RepeatsJson(TypedDict):
    k: int
    mean_at_k: MeasureJson
    pass_at_k: MeasureJson
    pass_hat_k: MeasureJson
    tasks: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class Repeats:
    """Means over tasks, 0..1, each with its interval, or without values and with the ``reason`` why."""

    k: int
    mean_at_k: Measure
    pass_at_k: Measure
    pass_hat_k: Measure
    tasks: int
    reason: str | None

    def to_json(self) -> RepeatsJson:
        return RepeatsJson(
            k=self.k,
            mean_at_k=self.mean_at_k.to_json(),
            pass_at_k=self.pass_at_k.to_json(),
            pass_hat_k=self.pass_hat_k.to_json(),
            tasks=self.tasks,
            reason=self.reason,
        )


def mean_at_k(trials: Sequence[bool | None], k: int) -> float | None:
    """Share of a task's scored trials that succeeded (0..1): the expected mean of k trials.

    None among ``trials`` is unscored. None is returned where fewer than k are scored.
    """
    scored = [trial for trial in trials if trial is not None]
    _validate(len(scored), sum(scored), k)
    return None if len(scored) < k else sum(scored) / len(scored)


def over_tasks(trials: Sequence[Sequence[bool | None]], clusters: Sequence[Hashable], k: int) -> Repeats:
    """All three measures over tasks, each task weighing the same, with intervals clustered by persona.

    ``trials[i]`` are the outcomes of task i, None where unscored; ``clusters[i]`` is its persona. A task with
    fewer than k scored trials withholds all three: dropping it would favour
    methods that crash on hard tasks.
    """
    if k < 1:
        raise ValueError(f"k is {k}; 1 or more is right")
    scored = [[trial for trial in task if trial is not None] for task in trials]
    short = sum(len(task) < k for task in scored)
    if short or not scored:
        reason = f"{short} of {len(scored)} tasks have fewer than {k} scored trials" if scored else "there are no tasks"
        nothing = Measure(None, None, None, 0)
        return Repeats(k, nothing, nothing, nothing, len(scored), reason)
    counts = [(len(task), sum(task)) for task in scored]
    return Repeats(
        k,
        clustered_mean([c / n for n, c in counts], clusters),
        clustered_mean([pass_at_k(n, c, k) for n, c in counts], clusters),
        clustered_mean([pass_hat_k(n, c, k) for n, c in counts], clusters),
        len(counts),
        None,
    )
