"""Who agrees with whom in one run: the numbers of the agreement page and of the ``agreement`` command.

A rating is a pass or a fail. "Cannot judge" and unscored are missing ratings
and agree with nothing. Intervals are clustered by persona: those of shares
(raw, prevalence) as of any mean, those of coefficients by drawing personas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

import numpy as np

from bench.grading import panel
from bench.grading.panel import MENU
from bench.grading.types import VerdictSource, VerdictValue
from bench.models import Run
from bench.results.agreement_shapes import Agreed, Bounds, Card, GroupRow, Narrowed, PairRow, Report, TogetherRow
from bench.results.kept import FORMAT, keep
from bench.results.panel_votes import panel_report, rounded
from bench.results.ratings import (
    ABSENT,
    FAIL,
    GROUPINGS,
    PASS,
    UNDECIDED,
    Given,
    narrowed,
    newest_rubric,
    read_ratings,
)
from bench.results.rows import ACTIONS
from bench.statistics.agreement import (
    Agreement,
    Coded,
    Codes,
    agreement_by_item,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    prevalence,
    raw_agreement,
    shares_by_item,
)
from bench.statistics.bootstrap import Interval, agreement_interval
from bench.statistics.intervals import Measure, clustered_mean


def agreement_of(run: Run) -> Report:
    """The agreement report of a run as in ``measure_agreement``, kept until something changes: see kept.py."""
    return keep(run, "agreement", measure_agreement)


def measure_agreement(run: Run) -> Report:
    """The agreement report of a run, computed anew."""
    version = newest_rubric(run)
    given = read_ratings(run, version)
    panel_names = run.manifest["policy"]["panel"]
    actions = {action: np.flatnonzero(given.items.action == number) for number, action in enumerate(ACTIONS)}
    return Report(
        format=FORMAT,
        run_id=run.pk,
        rubric_version=version,
        simulated=run.simulated or given.simulated,
        warnings=panel.panel_warnings(run.manifest["judges"], run.manifest.get("model", {})),
        by_action={a: _narrowed(narrowed(given, items), panel_names) for a, items in actions.items() if len(items)},
        **_narrowed(given, panel_names),
    )


def _narrowed(given: Given, panel_names: Sequence[str]) -> Narrowed:
    judges = given.of(VerdictSource.JUDGE)
    names, items = [given.raters[row][1] for row in judges], given.items
    return Narrowed(
        pairs=list(_pairs(given)),
        groups=list(_groups(given, _kinds(given))),
        overall=[_together(given, kind, sides, np.arange(len(items.trajectory))) for kind, sides in _kinds(given)],
        judges=[_card(row) for row in _cards(given)],
        **panel_report(panel_names, names, given.decided[judges], items.humans, items.persona),
    )


def _kinds(given: Given) -> list[tuple[str, Codes]]:
    """Kind -> the ratings compared: all raters, all judges, or what humans decided beside the panel or the rules."""
    humans, judges, rules = (given.decided[given.of(s)] for s in ("human", "judge", "rule"))
    nobody = humans[:0]
    beside_judges = np.stack([given.items.humans, _majority(judges)]) if len(judges) else nobody
    beside_rules = np.vstack([given.items.humans, rules]) if len(rules) else nobody
    return [
        ("human-human", humans), ("judge-judge", judges), ("human-judge", beside_judges), ("human-rule", beside_rules)
    ]  # fmt: skip


def _majority(judges: Codes) -> Codes:
    """The value that more than half of the judges give; an item without one is missing."""
    found = np.full(judges.shape[1], UNDECIDED, dtype=np.int64)
    for code in (PASS, FAIL):
        found[(judges == code).sum(axis=0) * 2 > len(judges)] = code
    return found


def _pairs(given: Given) -> Iterable[PairRow]:
    order = [row for source in ("human", "judge", "rule") for row in given.of(source)]
    for a, b in combinations(order, 2):
        sides = given.decided[[a, b]]
        both = np.flatnonzero((sides >= 0).all(axis=0))
        if len(both):
            (source_a, name_a), (source_b, name_b) = given.raters[a], given.raters[b]
            yield PairRow(a=name_a, b=name_b, kind=f"{source_a}-{source_b}", **_numbers(given, sides, both))


def _groups(given: Given, kinds: Sequence[tuple[str, Codes]]) -> Iterable[GroupRow]:
    for by in GROUPINGS:
        names, group = np.unique(np.array(given.items.groups[by], dtype=object), return_inverse=True)
        for number, name in enumerate(names):
            members = np.flatnonzero(group == number)
            for kind, sides in kinds:
                row = _together(given, kind, sides, members)
                if name and row["n"]:
                    yield GroupRow(by=by, group=name, **row)


def _together(given: Given, kind: str, sides: Codes, items: Codes) -> TogetherRow:
    """All sides of a kind at once, over the items that two or more of them rated: n is that of every number."""
    rated = items[(sides[:, items] >= 0).sum(axis=0) >= 2]
    return TogetherRow(kind=kind, raters=len(sides), **_numbers(given, sides, rated))


def _numbers(given: Given, sides: Codes, items: Codes) -> Agreed:
    ratings, persona = Coded(sides[:, items], MENU), given.items.persona[items]
    two = len(sides) == 2
    found: dict[str, Agreement] = {
        "raw": raw_agreement(ratings),
        "ac1": gwet_ac1(ratings, MENU),
        "alpha": krippendorff_alpha(ratings),
        "kappa": (cohen_kappa if two else fleiss_kappa)(ratings),
        "prevalence": prevalence(ratings, VerdictValue.PASS),
    }
    reasons = {name: result.reason for name, result in found.items() if result.reason}
    intervals = {
        "raw": _of_mean(clustered_mean(agreement_by_item(ratings), persona.tolist()), reasons.get("raw")),
        "prevalence": _of_mean(
            clustered_mean(shares_by_item(ratings, PASS), persona.tolist()), reasons.get("prevalence")
        ),
    }
    for name, coefficient in (("ac1", "ac1"), ("alpha", "alpha"), ("kappa", "cohen" if two else "fleiss")):
        if name in reasons:
            intervals[name] = Bounds(low=None, high=None, reason=reasons[name])
        else:
            intervals[name] = bounds(agreement_interval(coefficient, ratings, persona))
    if (why := intervals["ac1"]["reason"]) is not None:
        reasons["interval"] = why
    return Agreed(
        n=found["raw"].n,
        raw=rounded(found["raw"].value),
        ac1=rounded(found["ac1"].value),
        alpha=rounded(found["alpha"].value),
        kappa=rounded(found["kappa"].value),
        prevalence=rounded(found["prevalence"].value),
        low=intervals["ac1"]["low"],
        high=intervals["ac1"]["high"],
        reasons=reasons,
        intervals=intervals,
    )


def bounds(interval: Interval) -> Bounds:
    return Bounds(low=rounded(interval.low), high=rounded(interval.high), reason=interval.reason)


def _of_mean(measure: Measure, reason: str | None) -> Bounds:
    return Bounds(low=rounded(measure.low), high=rounded(measure.high), reason=reason)


def _cards(given: Given) -> Iterable[panel.CardRow]:
    judges = [_judged(given, row) for row in given.of(VerdictSource.JUDGE)]
    splits: tuple[Callable[[Iterable[panel.Judged]], tuple[panel.CardRow, ...]], ...] = (
        panel.by_length,
        panel.by_position,
        panel.by_family,
        panel.by_action,
        panel.against_itself,
    )
    for split in splits:
        yield from split(judges)


def _judged(given: Given, row: int) -> panel.Judged:
    items = given.items
    here = given.values[row] != ABSENT
    return panel.Judged(
        judge=given.raters[row][1],
        persona=items.persona[here],
        own_family=given.own_family[row, here],
        candidate_chars=items.candidate_chars[here],
        position=items.position[here],
        calls=items.action[here] == ACTIONS.index("call_api"),
        value=given.decided[row, here],
        reference=items.humans[here],
        again=np.maximum(given.before[row, here], UNDECIDED),
    )


def _card(row: panel.CardRow) -> Card:
    gap = row.rate_gap
    return Card(
        judge=row.judge,
        split=row.split,
        group=row.group,
        n=row.raw.n,
        raw=rounded(row.raw.value),
        ac1=rounded(row.ac1.value),
        rate_gap=rounded(gap.difference),
        reason=row.raw.reason,
        intervals={
            "raw": _of_mean(row.raw_interval, row.raw.reason),
            "ac1": bounds(row.ac1_interval),
            "rate_gap": Bounds(low=rounded(gap.low), high=rounded(gap.high), reason=row.raw.reason),
        },
    )
