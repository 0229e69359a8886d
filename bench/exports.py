"""Datasets and results as files: JSONL with a sha256 each. Cells of a CSV cannot become formulas."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bench.files import write_file
from bench.models import CheckpointScore, Dataset, Event, Run, Task, Trajectory, Unit, Verdict
from bench.results.agreement_report import agreement_of
from bench.results.report import results_of

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export_dataset(dataset: Dataset, folder: Path, *, gold: bool) -> list[dict[str, Any]]:
    """personas, events and tasks as JSONL; with ``gold`` also labels and checkpoints; last a manifest of these files.

    Returns files with sha256. Each takes the place of an old one only once it is whole.
    """
    files = {
        "personas.jsonl": _personas(dataset, gold),
        "events.jsonl": _events(dataset),
        "tasks.jsonl": _tasks(dataset),
    }
    if gold:
        files |= {"gold_labels.jsonl": _labels(dataset), "gold_checkpoints.jsonl": _checkpoints(dataset)}
    written = [_write_lines(folder / name, rows) for name, rows in files.items()]
    manifest = {"dataset": dataset.name, "version": dataset.version, "sha256": dataset.sha256, "files": written}
    manifest |= {"validity": dataset.validity}
    return [*written, _write(folder / "manifest.json", json.dumps(manifest, indent=2) + "\n")]


def export_results(run: Run, folder: Path) -> list[dict[str, Any]]:
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
        _write(folder / "results.json", json.dumps(results, indent=2) + "\n"),
        _write(folder / "agreement.json", json.dumps(agreement_of(run), indent=2) + "\n"),
        _write_lines(folder / "units.jsonl", _units(run)),
        _write_lines(folder / "trajectories.jsonl", _trajectories(run)),
        _write_lines(folder / "verdicts.jsonl", _verdicts(run)),
        _write(folder / "scores.csv", _scores(run)),
        _write(folder / "manifest.json", json.dumps(run.manifest, indent=2, sort_keys=True) + "\n"),
    ]


def _write(path: Path, text: str) -> dict[str, Any]:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    write_file(path, data)
    return {"file": path.name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return _write(path, "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows))


def _personas(dataset: Dataset, gold: bool) -> Iterator[dict[str, Any]]:
    for persona in dataset.personas.order_by("slug"):
        row = {"persona": persona.slug, "name": persona.name, "split": persona.split, "background": persona.background}
        yield {**row, "traits": persona.traits, "states": persona.states} if gold else row


def _events(dataset: Dataset) -> Iterator[dict[str, Any]]:
    events = Event.objects.filter(persona__dataset=dataset).order_by("persona__slug", "position")
    fields = ("persona__slug", "position", "occurred_at", "channel", "session", "text")
    for persona, position, moment, channel, session, text in events.values_list(*fields).iterator():
        yield {
            "persona": persona,
            "position": position,
            "occurred_at": moment.isoformat(),
            "channel": channel,
            "session": session,
            "text": text,
        }


def _tasks(dataset: Dataset) -> Iterator[dict[str, Any]]:
    for task in Task.objects.of_dataset(dataset.pk).select_related("persona", "scenario__domain").order_by("slug"):
        yield {
            "task": task.slug,
            "persona": task.persona.slug,
            "scenario": str(task.scenario),
            "request": task.request,
            "as_of": task.as_of.isoformat(),
            "tools": task.tools,
            "world": task.world,
        }


def _labels(dataset: Dataset) -> Iterator[dict[str, Any]]:
    events = Event.objects.filter(persona__dataset=dataset).order_by("persona__slug", "position")
    for event in events.select_related("persona", "label").iterator():
        label = event.label
        yield {
            "persona": event.persona.slug,
            "position": event.position,
            "role": label.role,
            "dimension": label.dimension,
            "value": label.value,
            "group": label.group,
            "why": label.why,
        }


def _checkpoints(dataset: Dataset) -> Iterator[dict[str, Any]]:
    tasks = Task.objects.of_dataset(dataset.pk).order_by("slug").prefetch_related("checkpoints__evidence")
    for task in tasks:
        for checkpoint in task.checkpoints.all():
            yield {
                "task": task.slug,
                "position": checkpoint.position,
                "kind": checkpoint.kind,
                "text": checkpoint.text,
                "rule": checkpoint.rule,
                "dimension": checkpoint.dimension,
                "value": checkpoint.value,
                "losing_values": checkpoint.losing_values,
                "conflict": checkpoint.conflict,
                "tier": checkpoint.tier,
                "retired": checkpoint.retired,
                "evidence": sorted(event.position for event in checkpoint.evidence.all()),
            }


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
