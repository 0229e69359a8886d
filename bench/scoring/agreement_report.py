"""Who agrees with whom in one run: the numbers of the agreement page and of the ``agreement`` command.

A rating is a pass or a fail. "Cannot judge" and unscored are missing ratings
and agree with nothing. Intervals are of AC1, clustered by persona.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from bench.models import CheckpointScore, Run, Verdict
from bench.scoring import panel
from bench.scoring.agreement import (
    Agreement,
    cohen_kappa,
    effective_votes,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    prevalence,
    raw_agreement,
)
from bench.scoring.bootstrap import agreement_interval
from bench.scoring.types import VerdictSource, VerdictValue

MENU = (VerdictValue.PASS, VerdictValue.FAIL)
ENOUGH_REFERENCE = 30  # our decision: from so many items on that humans decided, judges' errors are correlated
GROUPINGS = ("domain", "scenario", "dimension", "checkpoint_kind")

Rater = tuple[str, str]  # (source, name)
Item = tuple[int, int]  # (trajectory id, checkpoint id)
Ratings = dict[Rater, dict[Item, VerdictValue]]


@dataclass(frozen=True, slots=True)
class About:
    """What an item belongs to."""

    persona: int
    domain: str
    scenario: str
    dimension: str
    checkpoint_kind: str


@dataclass(frozen=True, slots=True)
class _Given:
    """All that the verdict table says of a run under one rubric version."""

    ratings: Ratings
    about: dict[Item, About]
    humans: dict[Item, VerdictValue]  # what raters and adjudication decided
    cards: tuple[panel.JudgedItem, ...]
    simulated: bool


def agreement_of(run: Run) -> dict[str, Any]:
    """The agreement report of a run as in ``measure_agreement``; kept with the run until a verdict changes."""
    if run.agreement is None:
        measured = measure_agreement(run)
        Run.objects.filter(pk=run.pk).update(agreement=measured)
        run.agreement = measured
    return dict(run.agreement)


def measure_agreement(run: Run) -> dict[str, Any]:
    """The agreement report of a run, computed anew, as JSON values; nothing in it is NaN.

    ``pairs``: one row for every two raters with a common item. ``overall``:
    one row a kind over all its raters together (kappa is Fleiss' there).
    ``groups``: the same by domain, scenario, dimension and checkpoint kind.
    A measure is null where undefined, and ``reasons`` says why.
    ``effective_votes`` is the number of independent votes that the panel is
    worth, or null. ``judges``: cards by length, position, family and test-retest.
    """
    version = _newest_rubric(run)
    given = _read(run, version)
    votes, against = _votes(given)
    return {
        "run_id": run.pk,
        "rubric_version": version,
        "simulated": given.simulated,
        "pairs": list(_pairs(given)),
        "overall": [_together(given, kind, sides, given.about) for kind, sides in _kinds(given)],
        "groups": list(_groups(given)),
        "effective_votes": _rounded(votes.value),
        "effective_votes_reason": votes.reason,
        "effective_votes_against": against,
        "effective_votes_n": votes.n,
        "judges": [_card(row) for row in _cards(given.cards)],
    }


def _newest_rubric(run: Run) -> str:
    newest = Verdict.objects.filter(trajectory__unit__run=run).order_by("-id").first()
    return newest.rubric_version if newest else ""


def _read(run: Run, version: str) -> _Given:
    latest: Ratings = defaultdict(dict)
    before: Ratings = defaultdict(dict)
    own_family: dict[tuple[Rater, Item], bool] = {}
    simulated = False
    rows = Verdict.objects.filter(trajectory__unit__run=run, rubric_version=version).exclude(value="")
    rows = rows.exclude(source=VerdictSource.ADJUDICATION).order_by("id")
    fields = ("source", "name", "trajectory_id", "checkpoint_id", "value", "own_family", "simulated")
    for source, name, trajectory, checkpoint, value, own, is_simulated in rows.values_list(*fields):
        rater, item = (source, name), (trajectory, checkpoint)
        if item in latest[rater]:
            before[rater][item] = latest[rater][item]
        latest[rater][item] = VerdictValue(value)
        own_family[rater, item] = own
        simulated = simulated or is_simulated
    about, humans, position, chars = _scores(run)
    cards = tuple(
        panel.JudgedItem(
            judge=rater[1],
            judge_family=rater[1],
            agent_family=rater[1] if own_family[rater, item] else "",
            candidate_chars=chars.get(item[0], 0),
            position=position[item],
            value=value,
            reference=humans.get(item),
            again=before[rater].get(item) if rater in before else None,
        )
        for rater in sorted(latest)
        if rater[0] == VerdictSource.JUDGE
        for item, value in latest[rater].items()
        if item in position
    )
    decided = {rater: {i: v for i, v in found.items() if v.decides} for rater, found in latest.items()}
    return _Given(decided, about, humans, cards, simulated)


def _scores(
    run: Run,
) -> tuple[dict[Item, About], dict[Item, VerdictValue], dict[Item, int], dict[int, int]]:
    """About each item, what humans decided, the checkpoint's place from 1, each candidate's length."""
    about, humans, position, chars = {}, {}, {}, {}
    task = "trajectory__unit__task__"
    fields = (
        "trajectory_id",
        "checkpoint_id",
        "human",
        "checkpoint__position",
        f"{task}persona_id",
        f"{task}scenario__domain__slug",
        f"{task}scenario__slug",
        "checkpoint__dimension",
        "checkpoint__kind",
    )
    for trajectory, checkpoint, human, place, persona, domain, scenario, dimension, kind in (
        CheckpointScore.objects.filter(trajectory__unit__run=run).order_by("pk").values_list(*fields)
    ):
        item = (trajectory, checkpoint)
        about[item] = About(persona, domain, f"{domain}.{scenario}", dimension, kind)
        position[item] = place + 1
        if human:
            humans[item] = VerdictValue(human)
    actions = run.units.filter(trajectory__isnull=False).values_list("trajectory__pk", "trajectory__data__action")
    for trajectory, action in actions:
        chars[trajectory] = len(action["text"] or json.dumps(action["arguments"])) if action else 0
    return about, humans, position, chars


def _of(given: _Given, source: str) -> list[Rater]:
    return sorted(rater for rater in given.ratings if rater[0] == source)


Sides = list[dict[Item, VerdictValue]]


def _kinds(given: _Given) -> list[tuple[str, Sides]]:
    """Kind -> the ratings compared: all raters, all judges, or what humans decided beside the panel."""
    humans = [given.ratings[rater] for rater in _of(given, VerdictSource.HUMAN)]
    judges = [given.ratings[rater] for rater in _of(given, VerdictSource.JUDGE)]
    rules = [given.ratings[rater] for rater in _of(given, VerdictSource.RULE)]
    kinds = [("human-human", humans), ("judge-judge", judges)]
    kinds.append(("human-judge", [given.humans, _majority(judges)] if judges else []))
    kinds.append(("human-rule", [given.humans, *rules] if rules else []))
    return kinds


def _majority(judges: Sides) -> dict[Item, VerdictValue]:
    """The value that more than half of the judges give; an item without one is missing."""
    items = {item for judge in judges for item in judge}
    found = {}
    for item in items:
        for value in MENU:
            if sum(judge.get(item) is value for judge in judges) * 2 > len(judges):
                found[item] = value
    return found


def _pairs(given: _Given) -> Iterable[dict[str, Any]]:
    names = {VerdictSource.HUMAN: "human", VerdictSource.JUDGE: "judge", VerdictSource.RULE: "rule"}
    order = [rater for source in names for rater in _of(given, source)]
    for a, b in combinations(order, 2):
        left, right = given.ratings[a], given.ratings[b]
        both = [item for item in left if item in right and item in given.about]
        if both:
            kind = f"{names[VerdictSource(a[0])]}-{names[VerdictSource(b[0])]}"
            yield {"a": a[1], "b": b[1], "kind": kind, **_numbers(given, [left, right], both)}


def _groups(given: _Given) -> Iterable[dict[str, Any]]:
    for by in GROUPINGS:
        members: dict[str, list[Item]] = defaultdict(list)
        for item, about in given.about.items():
            members[getattr(about, by)].append(item)
        for name in sorted(members):
            for kind, sides in _kinds(given):
                row = _together(given, kind, sides, members[name])
                if name and row["n"]:
                    yield {"by": by, "group": name, **row}


def _together(given: _Given, kind: str, sides: Sides, items: Iterable[Item]) -> dict[str, Any]:
    """All sides of a kind at once, over the items that two or more of them rated."""
    rated = [item for item in items if sum(item in side for side in sides) >= 2]
    return {"kind": kind, "raters": len(sides), **_numbers(given, sides, rated)}


def _numbers(given: _Given, sides: Sides, items: Sequence[Item]) -> dict[str, Any]:
    ratings = [[side.get(item) for item in items] for side in sides]
    clusters = [given.about[item].persona for item in items]
    kappa = cohen_kappa if len(sides) == 2 else fleiss_kappa
    found: dict[str, Agreement] = {
        "raw": raw_agreement(ratings),
        "ac1": gwet_ac1(ratings, MENU),
        "alpha": krippendorff_alpha(ratings),
        "kappa": kappa(ratings),
        "prevalence": prevalence(ratings, VerdictValue.PASS),
    }
    interval = agreement_interval("ac1", ratings, clusters) if items else None
    reasons = {name: result.reason for name, result in found.items() if result.reason}
    if interval is None or interval.reason:
        reasons["interval"] = interval.reason if interval and interval.reason else reasons["ac1"]
    return {
        "n": found["raw"].n,
        **{name: _rounded(result.value) for name, result in found.items()},
        "low": _rounded(interval.low) if interval else None,
        "high": _rounded(interval.high) if interval else None,
        "reasons": reasons,
    }


def _votes(given: _Given) -> tuple[Agreement, str]:
    """From errors against humans where they decided enough items, else from the votes alone."""
    judges = [given.ratings[rater] for rater in _of(given, VerdictSource.JUDGE)]
    items = sorted({item for judge in judges for item in judge})
    decided = [item for item in items if item in given.humans]
    if len(decided) >= ENOUGH_REFERENCE:
        ratings = [[judge.get(item) for item in decided] for judge in judges]
        return effective_votes(ratings, [given.humans[item] for item in decided]), "humans"
    return effective_votes([[judge.get(item) for item in items] for judge in judges]), "votes"


def _cards(items: Sequence[panel.JudgedItem]) -> Iterable[panel.CardRow]:
    splits: tuple[Callable[[Iterable[panel.JudgedItem]], tuple[panel.CardRow, ...]], ...] = (
        panel.by_length,
        panel.by_position,
        panel.by_family,
        panel.against_itself,
    )
    for split in splits:
        yield from split(items)


def _card(row: panel.CardRow) -> dict[str, Any]:
    return {
        **asdict(row),
        "raw": _rounded(row.raw.value),
        "ac1": _rounded(row.ac1.value),
        "n": row.raw.n,
        "reason": row.raw.reason,
        "rate_gap": _rounded(row.rate_gap),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
