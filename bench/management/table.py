"""The results table for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.models import Run
from bench.pages import numbers

_COLUMNS = (
    ("behaviour accuracy", "behaviour_accuracy"),
    ("preference satisfaction", "preference_satisfaction"),
    ("task success", "task_success"),
)


def results_table(run: Run, results: dict[str, Any]) -> str:
    """One line a method: each measure with its 95% interval, and both denominators."""
    mark = (
        "  SIMULATED: what the evidence of a method allows an ideal reader, not how a model does"
        if run.simulated
        else ""
    )
    lines = [f"run {run.pk} on {run.dataset}, model {run.model}{mark}", ""]
    header = f"{'method':24}" + "".join(f"{title:>26}" for title, _ in _COLUMNS)
    lines += [header + f"{'evaluated/planned':>20}{'errors':>8}{'recall':>8}", "-" * (len(header) + 36)]
    for cell in results["cells"]:
        why = numbers.withheld(cell)
        measures = "".join(f"{numbers.DASH if why else _measure(cell[name]):>26}" for _, name in _COLUMNS)
        denominators = f"{cell['evaluated']}/{cell['planned']}"
        recall = numbers.share(cell["evidence_recall"])
        lines.append(f"{cell['method']:24}{measures}{denominators:>20}{cell['errors']:>8}{recall:>8}")
        lines += [
            _action_line(action, part) for action, part in cell["by_action"].items() if len(cell["by_action"]) > 1
        ]
    withheld = [f"{cell['method']}: {why}" for cell in results["cells"] if (why := numbers.withheld(cell))]
    return "\n".join(["", *lines, "", "in brackets: 95% interval, clustered by persona", *withheld, ""])


def _action_line(action: str, part: Mapping[str, Any]) -> str:
    """The tasks of one kind of action, below their method."""
    why = numbers.withheld(part)
    measures = "".join(f"{numbers.DASH if why else _measure(part[name]):>26}" for _, name in _COLUMNS)
    return f"  {numbers.action_words(action):22}{measures}{str(part['evaluated']) + '/' + str(part['planned']):>20}"


def _measure(measure: dict[str, Any]) -> str:
    return f"{numbers.share(measure['mean'])} {numbers.interval(measure)}".strip()


def sweep_table(runs: Sequence[Mapping[str, Any]]) -> str:
    """Preference satisfaction of each method at each share of noise, with the share of gold events that it saw."""
    mark = "  SIMULATED" if any(run["simulated"] for run in runs) else ""
    lines = ["", f"preference satisfaction by share of noise, in brackets the gold events seen{mark}", ""]
    lines.append(f"{'method':24}" + "".join(f"{run['noise']:>16.0%}" for run in runs))
    for cells in zip(*(run["cells"] for run in runs), strict=True):
        lines.append(f"{cells[0]['method']:24}" + "".join(f"{_shown(cell):>16}" for cell in cells))
    return "\n".join(lines) + "\n"


def _shown(cell: Mapping[str, Any]) -> str:
    mean, recall = cell["preference_satisfaction"]["mean"], cell["evidence_recall"]
    return f"{numbers.DASH if numbers.withheld(cell) else numbers.share(mean)} ({numbers.share(recall)})"
