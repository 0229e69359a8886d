"""Of what each judge was asked, how much it answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet

from bench.grading.judges import RUBRIC_VERSION
from bench.models import Run, Verdict

ENOUGH = 0.95  # below it a judge's silence is warned of


class JudgeCoverage(TypedDict):
    """``asked``: checkpoints of trajectories, each once however often it was asked; ``share``: answered of asked."""

    judge: str
    asked: int
    answered: int
    share: float


_COUNT = """
    SELECT name, count(*), count(*) FILTER (WHERE usable) FROM (
        SELECT verdict.name, bool_or(verdict.value <> '') AS usable
        FROM bench_verdict AS verdict
        JOIN bench_trajectory AS trajectory ON trajectory.id = verdict.trajectory_id
        JOIN bench_unit AS unit ON unit.id = trajectory.unit_id
        WHERE unit.run_id = %s AND verdict.source = 'judge' AND verdict.rubric_version = %s
        GROUP BY verdict.name, verdict.trajectory_id, verdict.checkpoint_id
    ) AS places GROUP BY name ORDER BY name
"""


def judge_coverage(run: Run) -> list[JudgeCoverage]:
    """One row a judge that was asked in the run, re-judging included. "Cannot judge" is an answer."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, [run.pk, RUBRIC_VERSION])
        return [
            {"judge": name, "asked": asked, "answered": answered, "share": round(answered / asked, 4)}
            for name, asked, answered in cursor.fetchall()
        ]


def silence_warnings(coverage: list[JudgeCoverage]) -> Iterator[str]:
    """A sentence for each judge that answered less than it should."""
    for row in coverage:
        if row["answered"] < ENOUGH * row["asked"]:
            yield (
                f"{row['judge']} answered {row['answered']:,} of {row['asked']:,} checkpoints that it was asked about; "
                "ask again with Retry, or `manage.py rejudge --missing`."
            )


def without_answer(run: Run) -> QuerySet[Verdict]:
    """Empty verdicts of the run's panel on what the same judge has never answered."""
    usable = Verdict.objects.filter(
        trajectory=OuterRef("trajectory"),
        checkpoint=OuterRef("checkpoint"),
        name=OuterRef("name"),
        source="judge",
        rubric_version=RUBRIC_VERSION,
    ).exclude(value="")
    return Verdict.objects.filter(
        ~Exists(usable),
        trajectory__unit__run=run,
        source="judge",
        value="",
        rubric_version=RUBRIC_VERSION,
        name__in=run.manifest["policy"]["panel"],
    )
