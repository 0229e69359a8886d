"""Compute a run's table anew from the files of ``export_results``: no database, no server, no model.

    manage.py export_results --run 1 --out folder
    python examples/recompute.py folder

Verdicts are combined to scores, scores to measures, measures to means and paired differences with intervals, over all
tasks and by kind of action and domain, and each number is compared with results.json. Exit code 1 where one differs.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # so that the script runs from any folder

from bench.grading.combination import combine  # noqa: E402
from bench.grading.types import Policy, VerdictRow, VerdictSource, VerdictValue  # noqa: E402
from bench.statistics.intervals import clustered_count, clustered_mean, holm, paired_difference  # noqa: E402

METRICS = ("behaviour_accuracy", "preference_satisfaction", "task_success")
Numbers = dict[str, Any]
Rows = list[Numbers]
Measures = dict[int, dict[str, float | None]]  # trajectory -> measure -> value, None where unscored


@dataclass(frozen=True)
class Export:
    """The files of one folder, read."""

    manifest: dict[str, Any]
    results: dict[str, Any]
    units: Rows
    verdicts: Rows
    scores: Rows


def read(folder: Path) -> Export:
    def rows_of(name: str) -> Rows:
        with (folder / name).open(encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    with (folder / "scores.csv").open(encoding="utf-8", newline="") as file:
        scores: Rows = list(csv.DictReader(file))
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return Export(manifest, results, rows_of("units.jsonl"), rows_of("verdicts.jsonl"), scores)


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


def measures(export: Export, values: dict[tuple[int, int], str]) -> Measures:
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


def part(units: Rows, of: Measures) -> Numbers:
    """Both denominators of some units, and their measures with intervals."""
    nothing = dict.fromkeys(METRICS)
    rows = [of.get(unit["trajectory"], nothing) for unit in units]
    personas = [unit["persona"] for unit in units]
    over = [unit["over_applied"] for unit in units]
    known = [count for count in over if count is not None]
    evaluated = sum(row["task_success"] is not None for row in rows)
    errors = sum(unit["status"] == "failed" for unit in units)
    return {
        "planned": len(units),
        "evaluated": evaluated,
        "errors": errors,
        "unscored": len(units) - evaluated - errors,
        **{name: clustered_mean([row[name] for row in rows], personas).to_json() for name in METRICS},
        "recall": clustered_mean([unit["evidence_recall"] for unit in units], personas).to_json(),
        "settled": clustered_mean([unit["settled"] for unit in units], personas).to_json(),
        "over_applied": {"count": sum(known) if known else None, **clustered_count(over, personas).to_json()},
    }


def totals(units: Rows, of: Measures) -> Numbers:
    cost = {name: sum(unit[name] or 0 for unit in units) for name in ("llm_calls", "tokens_in", "tokens_out")}
    return {**part(units, of), **cost, "cost_usd": round(sum(unit["cost_usd"] or 0 for unit in units), 6)}


def cell(units: Rows, of: Measures) -> Numbers:
    return {
        **totals(units, of),
        "by_action": {kind: totals(mine, of) for kind, mine in groups(units, "action_kind").items()},
        "by_domain": {
            domain: {
                **part(mine, of),
                "by_action": {kind: part(some, of) for kind, some in groups(mine, "action_kind").items()},
            }
            for domain, mine in groups(units, "domain").items()
        },
    }


def groups(units: Rows, by: str) -> dict[str, Rows]:
    return {name: [unit for unit in units if unit[by] == name] for name in sorted({unit[by] for unit in units})}


def pairs(units: Rows, methods: Sequence[str], of: Measures, *, simulated: bool) -> dict[str, Numbers]:
    """ "a against b, metric" -> the difference on the units that both have, with interval; p where the run is real."""
    found: dict[str, Numbers] = {}
    place = {name: {(u["task"], u["repeat"]): u for u in units if u["method"] == name} for name in methods}
    for metric in METRICS:
        p_values = {}
        for a, b in combinations((name for name in methods if place[name]), 2):
            both = [(unit, place[b][key]) for key, unit in place[a].items() if key in place[b]]
            mine, others = ([of.get(pair[side]["trajectory"], {}).get(metric) for pair in both] for side in (0, 1))
            difference = paired_difference(mine, others, [unit["persona"] for unit, _ in both])
            name = f"{a} against {b}, {metric}"
            found[name] = {"common": len(both)}
            found[name] |= {key: getattr(difference, key) for key in ("difference", "low", "high", "n")}
            if not simulated and difference.p is not None:
                found[name]["p"] = p_values[name] = difference.p
        for name, adjusted in zip(p_values, holm(list(p_values.values())), strict=True):
            found[name]["p_holm"] = round(adjusted, 5)
    return found


def differences(ours: Any, theirs: Any, where: str) -> Iterator[str]:
    """Every number of ``ours`` that is another in ``theirs``."""
    if isinstance(ours, dict):
        for key, value in ours.items():
            yield from differences(value, (theirs or {}).get(key), f"{where} {key}")
    elif ours != theirs and not (isinstance(ours, float) and abs(ours - (theirs or 0)) < 1e-9):
        yield f"{where}: {ours} from the files, {theirs} in results.json"


@dataclass(frozen=True)
class Recomputed:
    """Method -> its cell; pairs of all tasks and by kind of action; ``wrong``: where the folder says something else."""

    cells: dict[str, Numbers]
    pairs: dict[str, dict[str, Numbers]]
    wrong: list[str]


def recompute(folder: Path) -> Recomputed:
    export = read(folder)
    values = combined(export)
    of = measures(export, values)
    shown = {cell["method"]: cell for cell in export.results["cells"]}
    cells = {method: cell([unit for unit in export.units if unit["method"] == method], of) for method in shown}
    simulated = export.results["simulated"]
    paired = {"": pairs(export.units, list(shown), of, simulated=simulated)}
    kinds = groups(export.units, "action_kind")
    if len(kinds) > 1:
        paired |= {kind: pairs(units, list(shown), of, simulated=simulated) for kind, units in kinds.items()}
    wrong = [
        f"trajectory {s['trajectory']}, {s['checkpoint']}: {value!r} from verdicts, {s['combined']!r} in scores.csv"
        for s in export.scores
        if (value := values[int(s["trajectory"]), int(s["checkpoint"])]) != s["combined"]
    ]
    for method, theirs in shown.items():
        wrong += differences(cells[method], theirs, method)
    stated: dict[str, dict[str, Numbers]] = defaultdict(dict)
    for row in [*export.results["paired"], *export.results["paired_by_action"]]:
        stated[row.get("action", "")][f"{row['a']} against {row['b']}, {row['metric']}"] = row
    wrong += differences(paired, stated, "paired")
    wrong += [
        f"paired: {kind} {name} is in results.json only"
        for kind, rows in stated.items()
        for name in rows.keys() - paired.get(kind, {}).keys()
    ]
    return Recomputed(cells, paired, wrong)


def shown(measure: Numbers) -> str:
    return f"{measure['mean']} ({measure['low']} to {measure['high']}, n {measure['n']})"


def lines(found: Recomputed) -> Iterator[str]:
    for method, whole in found.cells.items():
        for name, row in ((method, whole), *((f"{method}, {kind}", one) for kind, one in whole["by_action"].items())):
            means = ", ".join(f"{metric} {shown(row[metric])}" for metric in (*METRICS, "recall", "settled"))
            yield f"{name}: {row['evaluated']} of {row['planned']} evaluated, {row['errors']} failed; {means}"
    for kind, rows in found.pairs.items():
        for name, row in rows.items():
            where = f"{kind}: {name}" if kind else name
            yield f"{where}: {row['difference']} ({row['low']} to {row['high']}, n {row['n']} of {row['common']})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="what export_results wrote")
    found = recompute(parser.parse_args().folder)
    for line in lines(found):
        print(line)
    for line in found.wrong:
        print(f"differs: {line}", file=sys.stderr)
    return 1 if found.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
