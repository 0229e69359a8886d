"""Who agrees with whom in a run."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from bench.access import may_see_results, require
from bench.models import Run
from bench.pages.nouns import see_run_named
from bench.results.agreement_report import GROUPINGS, agreement_of

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
    report = agreement_of(run) if run else None
    context = {
        "runs": runs,
        "run": run,
        "report": report,
        "tables": _tables(report) if report else [],
        "judge_why": list(dict.fromkeys(row["reason"] for row in report["judges"] if row["reason"])) if report else [],
    }
    return render(request, "annotation/agreement.html", context)


def _tables(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The report's rows as tables with a title: all together, pair by pair, then group by group."""
    overall = [{**row, "label": KINDS[row["kind"]]} for row in report["overall"]]
    tables: list[dict[str, Any]] = [{"title": "All together", "head": "who", "rows": overall, "open": True}]
    pairs = [{**row, "label": f"{row['a']} and {row['b']}"} for row in report["pairs"]]
    if pairs:
        tables.append({"title": "Two by two", "head": "pair", "rows": pairs, "open": True})
    for by in GROUPINGS:
        rows = [{**row, "label": row["group"]} for row in report["groups"] if row["by"] == by]
        if rows:
            title = f"By {by.replace('_', ' ')}"
            tables.append({"title": title, "head": by.replace("_", " "), "rows": rows, "open": by == "domain"})
    return [{**table, "why": _why(table["rows"])} for table in tables]


def _why(rows: list[dict[str, Any]]) -> list[str]:
    """The different reasons of a table's undefined values; the page numbers them and says them once."""
    return list(dict.fromkeys(reason for row in rows for reason in row["reasons"].values()))
