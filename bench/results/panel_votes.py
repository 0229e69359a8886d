"""What the panel of a run is worth: its effective votes, and how good each judge is where humans decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import numpy as np

from bench.grading.panel import MENU
from bench.grading.types import VerdictValue
from bench.statistics.agreement import Agreement, Coded, Codes, cohen_kappa
from bench.statistics.bootstrap import agreement_interval
from bench.statistics.intervals import clustered_mean
from bench.statistics.votes import effective_votes, votes_interval

PASS = MENU.index(VerdictValue.PASS)
ENOUGH_REFERENCE = 30  # our decision: from so many items on that humans decided, judges' errors are correlated


class JudgeLine(TypedDict):
    """One judge beside what humans decided. ``left_out``: why it does not count among the votes, or ""."""

    judge: str
    left_out: str
    n: int
    pass_rate: float | None
    pass_low: float | None
    pass_high: float | None
    accuracy: float | None
    low: float | None
    high: float | None
    n_humans: int
    reason: str | None
    kappa: float | None
    better_than_chance: bool | None  # whether the interval of kappa against humans lies above 0; None: not known


class PanelReport(TypedDict):
    """``effective_votes`` with its interval, or None and the reason; ``against``: "humans" or "votes"."""

    effective_votes: float | None
    effective_votes_low: float | None
    effective_votes_high: float | None
    effective_votes_reason: str | None
    effective_votes_interval_reason: str | None
    effective_votes_against: str
    effective_votes_n: int
    effective_votes_of: list[str]
    panel: list[JudgeLine]


def panel_report(
    panel: Sequence[str], names: Sequence[str], votes: Codes, humans: Codes, persona: Codes
) -> PanelReport:
    """The part of the agreement report that is about the panel, as JSON values.

    ``votes``: (judges of the verdict table, items), indexes into MENU or -1;
    ``names`` in that order. ``humans``, ``persona``: an entry an item.
    """
    everyone = [*names, *(name for name in panel if name not in names)]
    silent = np.full(votes.shape[1], -1, dtype=np.int64)
    rows = [votes[names.index(name)] if name in names else silent for name in everyone]
    lines = [_line(name, name in panel, row, humans, persona) for name, row in zip(everyone, rows, strict=True)]
    kept = [row for row, line in zip(rows, lines, strict=True) if not line["left_out"]]
    counted = np.array(kept, dtype=np.int64).reshape(len(kept), votes.shape[1])
    rated = (counted >= 0).any(axis=0)
    decided = rated & (humans >= 0)
    against = "humans" if decided.sum() >= ENOUGH_REFERENCE else "votes"
    items = decided if against == "humans" else rated
    given = as_names(counted[:, items])
    reference = as_names(humans[None, items])[0] if against == "humans" else None
    found = _too_few(lines) if len(counted) < 2 else effective_votes(given, reference)
    interval = votes_interval(given, reference, persona[items])
    return {
        "effective_votes": rounded(found.value),
        "effective_votes_low": rounded(interval.low) if found.value is not None else None,
        "effective_votes_high": rounded(interval.high) if found.value is not None else None,
        "effective_votes_reason": found.reason,
        "effective_votes_interval_reason": interval.reason,
        "effective_votes_against": against,
        "effective_votes_n": found.n,
        "effective_votes_of": [line["judge"] for line in lines if not line["left_out"]],
        "panel": lines,
    }


def _too_few(lines: Sequence[JudgeLine]) -> Agreement:
    """Names who is left out and why, where fewer than two judges are left."""
    out = "; ".join(f"{line['judge']} {line['left_out']}" for line in lines if line["left_out"])
    count = sum(not line["left_out"] for line in lines)
    return Agreement(None, f"undefined because the panel has {count} judge(s) that count{f': {out}' * bool(out)}", 0)


def _line(name: str, in_panel: bool, votes: Codes, humans: Codes, persona: Codes) -> JudgeLine:
    said, both = votes >= 0, (votes >= 0) & (humans >= 0)
    given = votes[said]
    passes = clustered_mean((given == PASS).astype(float).tolist(), persona[said].tolist())
    right = clustered_mean((votes[both] == humans[both]).astype(float).tolist(), persona[both].tolist())
    ratings = Coded(np.stack([votes[both], humans[both]]), MENU)
    kappa = cohen_kappa(ratings)
    beyond = agreement_interval("cohen", ratings, persona[both]) if kappa.value is not None else None
    return JudgeLine(
        judge=name,
        left_out=_left_out(in_panel, given),
        n=len(given),
        pass_rate=rounded(passes.mean),
        pass_low=rounded(passes.low),
        pass_high=rounded(passes.high),
        accuracy=rounded(right.mean),
        low=rounded(right.low),
        high=rounded(right.high),
        n_humans=right.n,
        reason=None if right.n else "undefined because humans decided nothing that it voted on",
        kappa=rounded(kappa.value),
        better_than_chance=None if beyond is None or beyond.low is None else beyond.low > 0,
    )


def _left_out(in_panel: bool, given: Codes) -> str:
    if not in_panel:
        return "is not of the panel"
    if not len(given):
        return "gave no vote"
    return f"always says {MENU[given[0]]}" if len(np.unique(given)) == 1 else ""


def as_names(codes: Codes) -> list[list[VerdictValue | None]]:
    menu = (*MENU, None)  # -1 finds the last
    return [[menu[code] for code in row] for row in codes.tolist()]


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
