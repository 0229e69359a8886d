"""The results tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypedDict

from bench.models import Dataset, Run
from bench.pages import numbers
from bench.results.cells import Cell, Part
from bench.results.report import Results
from bench.statistics.intervals import MeasureJson

_COLUMNS = ("behaviour accuracy", "preference satisfaction", "task success")
_WIDE = 26
_LEGEND = "in brackets: 95% interval, clustered by persona; n stands where it is not the number evaluated"


class SweepRun(TypedDict):
    """A finished run at one share of noise."""

    noise: float
    simulated: bool
    cells: list[Cell]


def results_table(run: Run, results: Results) -> str:
    """One line a method and, below it, one a kind of action: measures with interval and n, and both denominators."""
    mark = (
        "  SIMULATED: what the evidence of a method allows an ideal reader, not how a model does"
        if run.simulated
        else ""
    )
    lines = [f"run {run.pk} on {run.dataset}, model {run.model}{mark}", *_warnings(run.dataset), ""]
    header = f"{'method':24}" + "".join(f"{title:>{_WIDE}}" for title in (*_COLUMNS, "recall", "settled"))
    header += f"{'evaluated/planned':>20}{'errors':>8}"
    lines += [header, "-" * len(header)]
    for cell in results["cells"]:
        lines += [_line(name, part) for name, part in _with_parts(cell)]
    withheld = [
        f"{cell['method']}{name if name.startswith(' ') else ''}: {why}"
        for cell in results["cells"]
        for name, part in _with_parts(cell)
        if (why := numbers.withheld(part))
    ]
    return "\n".join(["", *lines, "", _LEGEND, *withheld, ""])


def _warnings(dataset: Dataset) -> Iterator[str]:
    if dataset.failed_gates:
        names = ", ".join(row["name"] for row in dataset.failed_gates)
        yield f"INVALID DATASET, these numbers do not mean what they say: {names}"
    if dataset.limits_not_met:
        names = ", ".join(row["name"] for row in dataset.limits_not_met)
        yield f"limits that the dataset does not meet (docs/validity.md): {names}"


def _with_parts(cell: Cell) -> Iterator[tuple[str, Part]]:
    """The method, and indented its tasks of each kind of action where there are two."""
    yield cell["method"], cell
    if len(cell["by_action"]) > 1:
        for action, part in cell["by_action"].items():
            yield f"  {numbers.action_words(action)}", part


def _line(name: str, part: Part) -> str:
    measures = (part["behaviour_accuracy"], part["preference_satisfaction"], part["task_success"])
    shown = [numbers.DASH if numbers.withheld(part) else _measure(one, part["evaluated"]) for one in measures]
    shown += [_measure(part["recall"], part["evaluated"]), _measure(part["settled"], part["evaluated"])]
    denominators = f"{part['evaluated']}/{part['planned']}"
    columns = "".join(f"{text:>{_WIDE}}" for text in shown)
    return f"{name:24}{columns}{denominators:>20}{part['errors']:>8}"


def _measure(measure: MeasureJson, evaluated: int) -> str:
    if measure["mean"] is None:
        return numbers.DASH
    n = "" if measure["n"] == evaluated else f" n {measure['n']}"
    return f"{numbers.share(measure['mean'])} {numbers.interval(measure)}{n}"


def sweep_table(runs: Sequence[SweepRun]) -> str:
    """Preference satisfaction of each method at each share of noise, with the share of gold events that it saw."""
    mark = "  SIMULATED" if any(run["simulated"] for run in runs) else ""
    lines = ["", f"preference satisfaction by share of noise, and the share of gold events seen{mark}", ""]
    header = (
        f"{'method':24}{'noise':>6}{'preference satisfaction':>{_WIDE}}{'recall':>{_WIDE}}{'evaluated/planned':>20}"
    )
    lines += [header, "-" * len(header)]
    for cells in zip(*(run["cells"] for run in runs), strict=True):
        for run, cell in zip(runs, cells, strict=True):
            lines += [_sweep_line(name, run["noise"], part) for name, part in _with_parts(cell)]
    return "\n".join([*lines, "", _LEGEND, ""])


def _sweep_line(name: str, noise: float, part: Part) -> str:
    measure = part["preference_satisfaction"]
    satisfied = numbers.DASH if numbers.withheld(part) else _measure(measure, part["evaluated"])
    recall, denominators = _measure(part["recall"], part["evaluated"]), f"{part['evaluated']}/{part['planned']}"
    return f"{name:24}{noise:>6.0%}{satisfied:>{_WIDE}}{recall:>{_WIDE}}{denominators:>20}"
