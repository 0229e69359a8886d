"""The list of runs and the live page of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from django.db.models import Count, Q

from bench.models import Domain, ModelCall, Run, Unit, UnitStatus
from bench.results.human import HumanEstimate
from bench.results.report import Results, Success
from bench.runs.progress import DONE, Progress

RECENT_CALLS = 500
SIDES = ("ai", "human", "combined")


def unit_counts(runs: Sequence[Run]) -> dict[int, Mapping[str, Any]]:
    """Run -> planned, done and failed units. One query for all of them."""
    rows: Iterable[Mapping[str, Any]] = (
        Unit.objects.filter(run__in=runs)
        .order_by()
        .values("run_id")
        .annotate(
            planned=Count("pk"),
            done=Count("pk", filter=Q(status__in=DONE)),
            failed=Count("pk", filter=Q(status=UnitStatus.FAILED)),
        )
    )
    return {row["run_id"]: row for row in rows}


def progress_rows(run: Run, progress: Progress, domains: Sequence[Domain]) -> list[dict[str, Any]]:
    """One row a method, one cell a domain: shares for the bar and the counts beside it."""
    return [
        {
            "method": method,
            "cells": [_cell(domain, progress.per_method_domain.get((method, domain.slug), {})) for domain in domains],
        }
        for method in run.manifest["methods"]
    ]


class SideRow(TypedDict):
    """Task success of a method as AI, humans and both grade it, and ``calibrated`` as humans would grade all of it.

    ``calibrated`` is None where no human graded the audit slice. ``parts``: the same for each kind of action, which
    they carry as ``name``.
    """

    name: str
    sides: list[Success]
    calibrated: HumanEstimate | None
    parts: list[SideRow]


def side_rows(results: Results, methods: Sequence[str]) -> list[SideRow]:
    """One row a method."""
    rows = []
    for method in methods:
        sides = [results["views"][view][method] for view in SIDES]
        estimate = results["human_calibrated"].get(method)
        actions = list(sides[0]["by_action"])
        rows.append(
            SideRow(
                name=method,
                sides=list(sides),
                calibrated=estimate,
                parts=[
                    SideRow(
                        name=action,
                        sides=[side["by_action"][action] for side in sides],
                        calibrated=estimate["by_action"].get(action) if estimate else None,
                        parts=[],
                    )
                    for action in actions
                    if len(actions) > 1
                ],
            )
        )
    return rows


def domains_of(progress: Progress) -> list[Domain]:
    slugs = {slug for _, slug in progress.per_method_domain}
    return list(Domain.objects.filter(slug__in=slugs))


def _cell(domain: Domain, counts: dict[str, int]) -> dict[str, Any]:
    planned = sum(counts.values())
    done, failed = counts.get(UnitStatus.SCORED, 0), counts.get(UnitStatus.FAILED, 0)
    running = counts.get(UnitStatus.RUNNING, 0) + counts.get(UnitStatus.JUDGING, 0) + counts.get(UnitStatus.ACTED, 0)
    return {
        "domain": domain,
        "planned": planned,
        "done": done,
        "failed": failed,
        "done_pct": _pct(done, planned),
        "failed_at": _pct(done, planned),
        "failed_pct": _pct(failed, planned),
        "running_at": _pct(done + failed, planned),
        "running_pct": _pct(running, planned),
    }


def _pct(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}" if whole else "0"


@dataclass(frozen=True)
class Calls:
    """Latency of the newest model calls of a run; None where there were none."""

    count: int
    p50_s: float | None
    p95_s: float | None


def recent_calls(run: Run) -> Calls:
    """Over the newest 500 calls. One query."""
    latest = ModelCall.objects.filter(unit__run=run).order_by("-id").values_list("latency_s", flat=True)
    values = sorted(latest[:RECENT_CALLS])
    if not values:
        return Calls(0, None, None)
    return Calls(len(values), values[len(values) // 2], values[min(len(values) - 1, int(len(values) * 0.95))])
