"""How far a run is."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Count, Max, Min
from django.utils import timezone

from bench.grading.coverage import without_answer
from bench.models import Run, RunStatus, Unit, UnitStatus
from bench.runs.outages import Waiting, waiting_for

DONE = (UnitStatus.SCORED, UnitStatus.FAILED, UnitStatus.CANCELLED)
RATE_WINDOW = timedelta(seconds=60)


@dataclass(frozen=True)
class Progress:
    """Units by what has become of them. ``rate_per_s`` looks at the last minute; ``ends_at`` extrapolates it.

    ``waiting``: what a running run waits for now.
    """

    planned: int
    done: int
    scored: int
    running: int
    queued: int
    failed: int
    cancelled: int
    per_method_domain: dict[tuple[str, str], dict[str, int]]
    errors: list[tuple[str, int]] = field(default_factory=list)
    rate_per_s: float = 0.0
    ends_at: datetime | None = None
    waiting: list[Waiting] = field(default_factory=list)
    unanswered: int = 0  # scored units on which a judge of the panel gave no usable verdict

    @property
    def share(self) -> float:
        return self.done / self.planned if self.planned else 0.0


def progress_of(run: Run) -> Progress:
    counts: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    by_status: Counter[str] = Counter()
    rows = (
        Unit.objects.filter(run=run)
        .order_by()
        .values_list("method", "task__scenario__domain__slug", "status")
        .annotate(count=Count("pk"))
    )
    for method, domain, status, count in rows:
        counts[(method, domain)][status] = count
        by_status[status] += count
    done = sum(by_status[status] for status in DONE)
    planned = by_status.total()
    rate = _rate(run)
    left = planned - done
    return Progress(
        planned=planned,
        done=done,
        scored=by_status[UnitStatus.SCORED],
        running=by_status[UnitStatus.RUNNING] + by_status[UnitStatus.JUDGING],
        queued=by_status[UnitStatus.QUEUED] + by_status[UnitStatus.ACTED],
        failed=by_status[UnitStatus.FAILED],
        cancelled=by_status[UnitStatus.CANCELLED],
        per_method_domain=dict(counts),
        errors=_errors(run) if by_status[UnitStatus.FAILED] else [],
        rate_per_s=rate,
        ends_at=timezone.now() + timedelta(seconds=left / rate) if rate and left else None,
        waiting=waiting_for(run) if run.status == RunStatus.RUNNING else [],
        unanswered=_unanswered(run) if RunStatus(run.status).is_over else 0,
    )


def _unanswered(run: Run) -> int:
    silent = without_answer(run).values("trajectory__unit")
    return Unit.objects.filter(pk__in=silent, status=UnitStatus.SCORED).count()


def _rate(run: Run) -> float:
    recent = Unit.objects.filter(run=run, finished_at__gte=timezone.now() - RATE_WINDOW)
    found = recent.aggregate(count=Count("pk"), first=Min("finished_at"), last=Max("finished_at"))
    if found["count"] < 2:
        return 0.0
    seconds = (found["last"] - found["first"]).total_seconds()
    return round(found["count"] / seconds, 2) if seconds > 0 else 0.0


def _errors(run: Run) -> list[tuple[str, int]]:
    """First lines of the errors of failed units with their number, the most frequent first."""
    texts = Unit.objects.filter(run=run, status=UnitStatus.FAILED).values_list("error", flat=True)
    return Counter(text.strip().splitlines()[0] if text.strip() else "no message" for text in texts).most_common()
