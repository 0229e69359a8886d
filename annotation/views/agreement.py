"""Who agrees with whom in a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from bench.access import may_see_results, require
from bench.asked import one_of
from bench.models import Run
from bench.pages import numbers
from bench.pages.nouns import see_run_named
from bench.results.agreement_report import agreement_of
from bench.results.agreement_shapes import Agreed, Card, Narrowed, PairRow, TogetherRow
from bench.results.ratings import GROUPINGS
from bench.results.rows import ACTIONS

KINDS = {
    "human-human": "Raters among one another",
    "judge-judge": "Judges among one another",
    "human-judge": "Raters against judges",
    "human-rule": "Raters against rules",
    "judge-rule": "Judges against rules",
}


@require_GET
@require(may_see_results)
def agreement(request: HttpRequest) -> HttpResponse:
    runs = list(Run.objects.select_related("dataset").defer("manifest", "results", "agreement")[:100])
    asked = see_run_named(request.user, request.GET.get("run", ""))
    run = asked or (runs[0] if runs else None)
    if asked and asked not in runs:
        runs.insert(0, asked)
    whole = agreement_of(run) if run else None
    actions = [kind for kind in ACTIONS if whole and kind in whole["by_action"]]
    action = one_of(actions, request.GET.get("action", ""))
    report = whole["by_action"].get(action, whole) if whole else None
    context = {
        "runs": runs,
        "run": run,
        "report": report,
        "whole": whole,
        "action": action,
        "actions": actions,
        "tables": _tables(report) if report else [],
        "judge_why": _why(report["judges"]) if report else [],
    }
    return render(request, "annotation/agreement.html", context)


class Table(TypedDict):
    """Rows with a ``label`` each; ``why``: the different reasons of undefined values, numbered on the page."""

    title: str
    head: str
    rows: list[Labelled]
    open: bool
    why: list[str]


class Labelled(Agreed):
    label: str
    kind: str


def _tables(report: Narrowed) -> list[Table]:
    """The report's rows as tables with a title: all together, pair by pair, then group by group."""
    tables = [_table("All together", "who", [(KINDS[row["kind"]], row) for row in report["overall"]], shown=True)]
    tables.append(
        _table("Two by two", "pair", [(f"{row['a']} and {row['b']}", row) for row in report["pairs"]], shown=True)
    )
    for by in GROUPINGS:
        name = numbers.action_words if by == "action_kind" else str
        rows = [(name(row["group"]), row) for row in report["groups"] if row["by"] == by]
        words = by.replace("_", " ")
        tables.append(_table(f"By {words}", words, rows, shown=by in ("domain", "action_kind")))
    return [table for table in tables if table["rows"]]


def _table(title: str, head: str, rows: Sequence[tuple[str, PairRow | TogetherRow]], *, shown: bool) -> Table:
    labelled = [
        Labelled(
            label=label, kind=row["kind"], n=row["n"], raw=row["raw"], ac1=row["ac1"], alpha=row["alpha"],
            kappa=row["kappa"], prevalence=row["prevalence"], low=row["low"], high=row["high"],
            reasons=row["reasons"], intervals=row["intervals"],
        )
        for label, row in rows
    ]  # fmt: skip
    return Table(title=title, head=head, rows=labelled, open=shown, why=_why(labelled))


def _why(rows: Sequence[Agreed | Card]) -> list[str]:
    """The different reasons of a table's undefined values and intervals; the page numbers them and says them once."""
    found: list[str] = []
    for row in rows:
        found += [bounds["reason"] for bounds in row["intervals"].values() if bounds["reason"]]
    return list(dict.fromkeys(found))
