"""Compute a run's table anew from the files of ``export_results``: no database, no server, no model.

    manage.py export_results --run 1 --out folder
    python examples/recompute.py folder

Verdicts are combined to scores, scores to measures, measures to means with intervals, and each number is compared
with results.json. Exit code 1 where one differs.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # so that the script runs from any folder

from bench.grading.combination import combine  # noqa: E402
from bench.grading.types import Policy, VerdictRow, VerdictSource, VerdictValue  # noqa: E402
from bench.statistics.intervals import clustered_mean  # noqa: E402

METRICS = ("behaviour_accuracy", "preference_satisfaction", "task_success")
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Export:
    """The files of one folder, read."""

    manifest: dict[str, Any]
    results: dict[str, Any]
    units: Rows
    verdicts: Rows
    scores: Rows


def read(folder: Path) -> Export:
    def lines(name: str) -> Rows:
        with (folder / name).open(encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    with (folder / "scores.csv").open(encoding="utf-8", newline="") as file:
        scores: Rows = list(csv.DictReader(file))
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return Export(manifest, results, lines("units.jsonl"), lines("verdicts.jsonl"), scores)


def combined(export: Export) -> dict[tuple[int, int], str]:
    """(trajectory, checkpoint) -> "pass", "fail" or "" from the verdicts, oldest first as in the file."""
    stored = export.manifest["policy"]
    policy = Policy(**{**stored, "panel": tuple(stored["panel"])})
    said: dict[tuple[int, int], list[VerdictRow]] = defaultdict(list)
    for number, row in enumerate(export.verdicts):
        if row["value"] and row["rubric_version"] == export.manifest["rubric_version"]:
            source, value = VerdictSource(row["source"]), VerdictValue(row["value"])
            verdict = VerdictRow("", source, row["name"], value, number, row["rationale"], row["contradicts"])
            said[row["trajectory"], row["checkpoint"]].append(verdict)
    places = [(int(score["trajectory"]), int(score["checkpoint"])) for score in export.scores]
    return {place: combine(said[place], policy).value or "" for place in places}


def measures(export: Export, values: dict[tuple[int, int], str]) -> dict[int, dict[str, float | None]]:
    """Trajectory -> its three measures; None where a checkpoint that it needs is unscored."""
    by_kind: dict[int, dict[str, list[str]]] = defaultdict(lambda: {"task": [], "preference": []})
    for score in export.scores:
        place = int(score["trajectory"]), int(score["checkpoint"])
        by_kind[place[0]][score["kind"]].append(values[place])
    found = {}
    for trajectory, kinds in by_kind.items():
        every = share([*kinds["task"], *kinds["preference"]])
        success = None if every is None else float(every == 1)
        found[trajectory] = dict(zip(METRICS, (share(kinds["task"]), share(kinds["preference"]), success), strict=True))
    return found


def share(values: Sequence[str]) -> float | None:
    return None if not values or "" in values else values.count("pass") / len(values)


def part(units: Rows, of: dict[int, dict[str, float | None]]) -> dict[str, Any]:
    """Both denominators and the three measures of some units, each mean with its interval."""
    nothing = dict.fromkeys(METRICS)
    rows = [of.get(unit["trajectory"], nothing) for unit in units]
    personas = [unit["persona"] for unit in units]
    return {
        "planned": len(units),
        "evaluated": sum(row["task_success"] is not None for row in rows),
        **{name: clustered_mean([row[name] for row in rows], personas).to_json() for name in METRICS},
    }


def cell(units: Rows, of: dict[int, dict[str, float | None]]) -> dict[str, Any]:
    whole = part(units, of)
    errors = sum(unit["status"] == "failed" for unit in units)
    cost = {name: sum(unit[name] or 0 for unit in units) for name in ("llm_calls", "tokens_in", "tokens_out")}
    domains = sorted({unit["domain"] for unit in units})
    return {
        **whole,
        "errors": errors,
        "unscored": whole["planned"] - whole["evaluated"] - errors,
        "by_domain": {domain: part([u for u in units if u["domain"] == domain], of) for domain in domains},
        **cost,
        "cost_usd": round(sum(unit["cost_usd"] or 0 for unit in units), 6),
    }


def differences(ours: Any, theirs: Any, where: str) -> Iterator[str]:
    """Every number of ``ours`` that is another in ``theirs``."""
    if isinstance(ours, dict):
        for key, value in ours.items():
            yield from differences(value, theirs.get(key), f"{where} {key}")
    elif ours != theirs and not (isinstance(ours, float) and abs(ours - (theirs or 0)) < 1e-9):
        yield f"{where}: {ours} from the files, {theirs} in results.json"


def recompute(folder: Path) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Method -> its cell of the table, and every difference from what the folder itself says."""
    export = read(folder)
    values = combined(export)
    of = measures(export, values)
    found = {
        shown["method"]: cell([unit for unit in export.units if unit["method"] == shown["method"]], of)
        for shown in export.results["cells"]
    }
    wrong = [
        f"trajectory {s['trajectory']}, {s['checkpoint']}: {value!r} from verdicts, {s['combined']!r} in scores.csv"
        for s in export.scores
        if (value := values[int(s["trajectory"]), int(s["checkpoint"])]) != s["combined"]
    ]
    for shown in export.results["cells"]:
        wrong += differences(found[shown["method"]], shown, shown["method"])
    return found, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="what export_results wrote")
    table, wrong = recompute(parser.parse_args().folder)
    for method, row in table.items():
        means = ", ".join(f"{name} {row[name]['mean']} ({row[name]['low']} to {row[name]['high']})" for name in METRICS)
        print(f"{method}: {row['evaluated']} of {row['planned']} evaluated, {row['errors']} failed; {means}")
    for line in wrong:
        print(f"differs: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
