"""Task success if the checkpoints of a task failed independently of one another."""

from __future__ import annotations

from collections import defaultdict
from math import prod

from django.db.models import Count, Q

from bench.models import CheckpointScore, Run

Kind = tuple[str, str]  # (action kind of the task, kind of the checkpoint)


def expected_if_independent(run: Run, view: str, split: str) -> dict[str, float]:
    """Method -> expected task success, 0..1; methods without a scored checkpoint are left out. Two queries.

    A checkpoint's pass rate is that of its kind among the tasks of one action kind, since texts and calls pass at
    different rates. The rates of a task's checkpoints are multiplied, and the products averaged over the method's
    trajectories: a mean over tasks of one product is no product of means.
    """
    where = {"trajectory__unit__task__persona__split": split} if split else {}
    scores = CheckpointScore.objects.filter(trajectory__unit__run=run, **where).order_by()
    rates: dict[str, dict[Kind, float]] = defaultdict(dict)
    by_kind = scores.filter(**{f"{view}__in": ["pass", "fail"]}).values_list(
        "trajectory__unit__method", "checkpoint__task__scenario__action_kind", "checkpoint__kind"
    )
    for method, action, kind, n, passed in by_kind.annotate(
        n=Count("pk"), passed=Count("pk", filter=Q(**{view: "pass"}))
    ):
        rates[method][action, kind] = passed / n
    products: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    sizes = scores.values_list(
        "trajectory__unit__method", "trajectory_id", "checkpoint__task__scenario__action_kind", "checkpoint__kind"
    )
    for method, trajectory, action, kind, n in sizes.annotate(n=Count("pk")):
        if (action, kind) in rates[method]:
            products[method][trajectory].append(rates[method][action, kind] ** n)
    return {
        method: round(sum(map(prod, found.values())) / len(found), 4) for method, found in products.items() if found
    }
