"""The report's arrays give the numbers that walking the verdict rows gives, one rating at a time."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.grading.store import append_verdicts, rubric_version, score_trajectories
from bench.models import CheckpointScore, Run, Verdict
from bench.results.agreement_report import measure_agreement
from bench.statistics.agreement import (
    Coded,
    cohen_kappa,
    encode,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    prevalence,
    raw_agreement,
)
from bench.statistics.bootstrap import agreement_interval
from bench.statistics.intervals import clustered_mean
from tests.annotation.factories import PANEL, make_cast, make_run

VALUES = ["pass", "pass", "pass", "fail", "fail", "cannot_judge", ""]
MENU = ("pass", "fail")


@pytest.fixture
def quarrel(db) -> Run:
    """Three judges and two raters on a small run; they differ, change their minds, cannot judge or say nothing."""
    run, cast = make_run(personas=4), make_cast()
    rng = random.Random(5)
    rows = []
    for _ in range(2):
        for score in CheckpointScore.objects.filter(checkpoint__rule__isnull=True):
            for source, name in [*(("judge", judge) for judge in PANEL), ("human", "ann"), ("human", "ben")]:
                rows.append(
                    Verdict(
                        trajectory_id=score.trajectory_id, checkpoint_id=score.checkpoint_id, source=source, name=name,
                        rubric_version=rubric_version(), value=rng.choice(VALUES), own_family=name == PANEL[1],
                        rater=cast.get(name),
                    )
                )  # fmt: skip
    append_verdicts(rows)
    score_trajectories(run.units.values_list("trajectory__pk", flat=True))
    return run


def said(source: str, name: str) -> dict[tuple[int, int], list[str]]:
    """(trajectory, checkpoint) -> the usable values of one rater, oldest first."""
    found: dict[tuple[int, int], list[str]] = {}
    for verdict in Verdict.objects.filter(source=source, name=name).exclude(value="").order_by("pk"):
        found.setdefault((verdict.trajectory_id, verdict.checkpoint_id), []).append(verdict.value)
    return found


def decided(values: dict[tuple[int, int], list[str]], item: tuple[int, int], back: int = 1) -> str | None:
    known = values.get(item, [])
    return known[-back] if len(known) >= back and known[-back] in MENU else None


def close(value: float | None):
    return None if value is None else pytest.approx(value, abs=6e-5)  # the report has four decimals


def items_of(run: Run) -> dict[tuple[int, int], CheckpointScore]:
    scores = CheckpointScore.objects.filter(trajectory__unit__run=run).order_by("pk")
    related = ("checkpoint", "trajectory__unit__task__scenario__domain")
    return {(score.trajectory_id, score.checkpoint_id): score for score in scores.select_related(*related)}


def check(row, ratings, personas) -> None:
    kappa = cohen_kappa if len(ratings) == 2 else fleiss_kappa
    assert row["raw"] == close(raw_agreement(ratings).value)
    assert row["ac1"] == close(gwet_ac1(ratings, MENU).value)
    assert row["alpha"] == close(krippendorff_alpha(ratings).value)
    assert row["kappa"] == close(kappa(ratings).value)
    assert row["prevalence"] == close(prevalence(ratings, "pass").value)
    interval = agreement_interval("ac1", ratings, personas)
    assert (row["low"], row["high"]) == (close(interval.low), close(interval.high))
    assert row["n"] == raw_agreement(ratings).n
    for name, coefficient in (("alpha", "alpha"), ("kappa", "cohen" if len(ratings) == 2 else "fleiss")):
        found = agreement_interval(coefficient, ratings, personas)
        assert (row["intervals"][name]["low"], row["intervals"][name]["high"]) == (close(found.low), close(found.high))
    items = [[one for one in item if one] for item in zip(*ratings, strict=True)]
    alike = [sum(a == b for a, b in combinations(item, 2)) / len(list(combinations(item, 2))) for item in items]
    passes = [item.count("pass") / len(item) for item in items]
    for name, values in (("raw", alike), ("prevalence", passes)):
        mean = clustered_mean(values, personas)
        assert (row["intervals"][name]["low"], row["intervals"][name]["high"]) == (close(mean.low), close(mean.high))


def test_every_pair_is_that_of_its_rows(quarrel):
    report = {(row["a"], row["b"]): row for row in measure_agreement(quarrel)["pairs"]}
    items = items_of(quarrel)
    raters = [("human", "ann"), ("human", "ben"), *(("judge", name) for name in sorted(PANEL))]
    for one, other in combinations(raters, 2):
        a, b = said(*one), said(*other)
        both = [item for item in items if decided(a, item) and decided(b, item)]
        assert both
        ratings = [[decided(side, item) for item in both] for side in (a, b)]
        check(report[one[1], other[1]], ratings, [items[i].trajectory.unit.task.persona_id for i in both])


@pytest.mark.parametrize(
    ("by", "name"),
    [
        ("domain", lambda score: score.trajectory.unit.task.scenario.domain.slug),
        ("action_kind", lambda score: score.trajectory.unit.task.scenario.action_kind),
        ("scenario", lambda score: str(score.trajectory.unit.task.scenario)),
        ("dimension", lambda score: score.checkpoint.dimension),
        ("checkpoint_kind", lambda score: score.checkpoint.kind),
    ],
)
def test_every_group_of_judges_is_that_of_its_rows(quarrel, by, name):
    rows = [row for row in measure_agreement(quarrel)["groups"] if (row["by"], row["kind"]) == (by, "judge-judge")]
    judges = [said("judge", judge) for judge in sorted(PANEL)]
    items = items_of(quarrel)
    assert rows
    for row in rows:
        here = [item for item, score in items.items() if name(score) == row["group"]]
        rated = [item for item in here if sum(decided(judge, item) is not None for judge in judges) >= 2]
        ratings = [[decided(judge, item) for item in rated] for judge in judges]
        check(row, ratings, [items[item].trajectory.unit.task.persona_id for item in rated])


def test_test_retest_and_family_are_those_of_the_rows(quarrel):
    cards = {(row["judge"], row["split"], row["group"]): row for row in measure_agreement(quarrel)["judges"]}
    items = items_of(quarrel)
    for name in PANEL:
        values = said("judge", name)
        here = [item for item in items if item in values]
        pairs = [[decided(values, item, back) for item in here] for back in (1, 2)]
        assert cards[name, "test-retest", "all"]["raw"] == close(raw_agreement(pairs).value)
        humans = [items[item].human or None for item in here]
        against = [[decided(values, item) for item in here], humans]
        family = "own family" if name == PANEL[1] else "other family"
        assert cards[name, "family", family]["raw"] == close(raw_agreement(against).value)
        assert cards[name, "family", family]["n"] == raw_agreement(against).n


ratings_strategy = st.integers(0, 12).flatmap(
    lambda n: st.lists(
        st.lists(st.sampled_from(["pass", "fail", None]), min_size=n, max_size=n), min_size=2, max_size=4
    )
)


@given(ratings_strategy)
def test_numbers_of_fixed_categories_measure_as_the_names_do(ratings):
    menu = {"pass": 0, "fail": 1, None: -1}
    shape = len(ratings), len(ratings[0])
    coded = Coded(encode(ratings).codes.copy().reshape(shape), MENU)
    for row, rater in enumerate(ratings):
        coded.codes[row] = [menu[value] for value in rater]
    for measure in (raw_agreement, krippendorff_alpha, fleiss_kappa, lambda r: gwet_ac1(r, MENU)):
        by_name, by_number = measure(ratings), measure(coded)
        assert (by_number.reason, by_number.n) == (by_name.reason, by_name.n)
        assert by_number.value == (None if by_name.value is None else pytest.approx(by_name.value))
