"""A run's results as files: JSONL with a sha256 each. Cells of a CSV cannot become formulas."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.models import CheckpointScore, Run, Trajectory, Unit, Verdict
from bench.publishing.package import Written, write
from bench.publishing.tables import lines
from bench.results.agreement_report import agreement_of
from bench.results.report import results_of

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export_results(run: Run, folder: Path) -> list[Written]:
    """A run as files; examples/recompute.py computes its table from them alone. Returns files with sha256.

    results.json, agreement.json, units.jsonl (failed ones too), trajectories.jsonl, verdicts.jsonl (oldest first),
    scores.csv, last manifest.json.
    """
    results = {
        "run_id": run.pk,
        "simulated": run.simulated,
        "gold_seen": run.gold_seen,
        "even_if_invalid": run.even_if_invalid,
        "dataset_validity": run.dataset.validity,
        "manifest_sha256": run.manifest_sha256,
        **results_of(run),
    }
    return [
        write(folder / "results.json", json.dumps(results, indent=2) + "\n"),
        write(folder / "agreement.json", json.dumps(agreement_of(run), indent=2) + "\n"),
        write(folder / "units.jsonl", lines(_units(run))),
        write(folder / "trajectories.jsonl", lines(_trajectories(run))),
        write(folder / "verdicts.jsonl", lines(_verdicts(run))),
        write(folder / "scores.csv", _scores(run)),
        write(folder / "manifest.json", json.dumps(run.manifest, indent=2, sort_keys=True) + "\n"),
    ]


UNIT_COLUMNS = {
    "unit": "pk",
    "trajectory": "trajectory__pk",
    "task": "task__slug",
    "method": "method",
    "repeat": "repeat",
    "status": "status",
    "error": "error",
    "persona": "task__persona__slug",
    "split": "task__persona__split",
    "domain": "task__scenario__domain__slug",
    "scenario": "task__scenario__slug",
    "action_kind": "task__scenario__action_kind",
    "audit": "trajectory__audit",
    "evidence_recall": "trajectory__evidence_recall",
    "settled": "trajectory__settled",
    "over_applied": "trajectory__over_applied",
    "llm_calls": "trajectory__llm_calls",
    "tokens_in": "trajectory__tokens_in",
    "tokens_out": "trajectory__tokens_out",
    "cost_usd": "trajectory__cost_usd",
    "wall_s": "trajectory__wall_s",
}


def _units(run: Run) -> Iterator[dict[str, Any]]:
    """Every planned unit, scored, failed or open; what its trajectory would say is null where it has none."""
    for values in Unit.objects.filter(run=run).order_by("pk").values_list(*UNIT_COLUMNS.values()).iterator():
        yield dict(zip(UNIT_COLUMNS, values, strict=True))


def _trajectories(run: Run) -> Iterator[dict[str, Any]]:
    found = Trajectory.objects.filter(unit__run=run).select_related("unit__task").order_by("pk")
    for one in found.iterator(chunk_size=200):
        yield {
            "trajectory": one.pk,
            "task": one.unit.task.slug,
            "method": one.unit.method,
            "repeat": one.unit.repeat,
            "simulated": run.simulated,
            "committed": one.committed,
            "data": one.data,
        }


def _verdicts(run: Run) -> Iterator[dict[str, Any]]:
    names = ("rubric_version", "source", "name", "value", "rationale", "anchor", "simulated", "raw", "contradicts")
    said = (*names, "own_family", "cost_usd", "created_at")
    rows = Verdict.objects.filter(trajectory__unit__run=run).order_by("pk")
    for values in rows.values_list("trajectory_id", "checkpoint__position", *said).iterator():
        yield dict(zip(("trajectory", "checkpoint", *said), values, strict=True))


def _scores(run: Run) -> str:
    columns = ("trajectory", "task", "method", "checkpoint", "kind", "text", "combined", "origin", "ai", "human", "gap")
    more = {"repeat": "trajectory__unit__repeat", "dimension": "checkpoint__dimension", "escalate": "escalate"}
    rows = CheckpointScore.objects.filter(trajectory__unit__run=run).order_by("trajectory_id", "checkpoint__position")
    fields = ("trajectory_id", "trajectory__unit__task__slug", "trajectory__unit__method", "checkpoint__position")
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow([*columns, *more, "simulated"])
    for values in rows.values_list(
        *fields, "checkpoint__kind", "checkpoint__text", *columns[6:], *more.values()
    ).iterator():
        writer.writerow([*(harmless(value) for value in values), run.simulated])
    return output.getvalue()


def harmless(value: Any) -> Any:
    """A text that a spreadsheet would run as a formula gets an apostrophe in front."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
