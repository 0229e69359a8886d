"""Judge cards: where a judge can be trusted, by length, position and family, and against itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bench.scoring.agreement import Agreement, gwet_ac1, raw_agreement
from bench.scoring.judges import is_own_family
from bench.scoring.types import VerdictValue

LENGTH_EDGES = (500, 1500, 4000)  # characters of the candidate


@dataclass(frozen=True, slots=True)
class JudgedItem:
    """One verdict of one judge beside what it is compared with.

    ``value`` and ``reference`` are None where unscored; ``reference`` is what
    humans decided. ``again`` is the same judge's verdict on the same prompt at
    another time. ``position`` counts checkpoints in the prompt from 1.
    """

    judge: str
    judge_family: str
    agent_family: str
    candidate_chars: int
    position: int
    value: VerdictValue | None
    reference: VerdictValue | None = None
    again: VerdictValue | None = None


@dataclass(frozen=True, slots=True)
class CardRow:
    """Agreement of one judge within one group: ``raw`` 0..1, ``ac1`` -1..1, each with a reason if undefined.

    ``rate_gap`` (-1..1) is its pass rate minus the reference's, so above 0 is
    lenient; None where nothing is compared.
    """

    judge: str
    split: str
    group: str
    raw: Agreement
    ac1: Agreement
    rate_gap: float | None


def by_length(items: Iterable[JudgedItem], edges: Sequence[int] = LENGTH_EDGES) -> tuple[CardRow, ...]:
    """Agreement with humans by length of the candidate; a group holds lengths below its edge."""
    bounds = sorted(edges)

    def group(item: JudgedItem) -> str:
        i = sum(item.candidate_chars >= edge for edge in bounds)
        top = str(bounds[i] - 1) if i < len(bounds) else "more"
        return f"{i + 1}: {bounds[i - 1] if i else 0} to {top} characters"

    return _rows(items, "length", group, _against_reference)


def by_position(items: Iterable[JudgedItem]) -> tuple[CardRow, ...]:
    """Agreement with humans by the checkpoint's place in the prompt."""
    return _rows(items, "position", lambda item: f"{item.position:02d}", _against_reference)


def by_family(items: Iterable[JudgedItem]) -> tuple[CardRow, ...]:
    """Agreement with humans on candidates of the judge's own model family and of others."""

    def group(item: JudgedItem) -> str:
        return "own family" if is_own_family(item.judge_family, item.agent_family) else "other family"

    return _rows(items, "family", group, _against_reference)


def against_itself(items: Iterable[JudgedItem]) -> tuple[CardRow, ...]:
    """Agreement of a judge with itself on the same prompt."""
    return _rows(items, "test-retest", lambda _: "all", lambda item: (item.value, item.again))


Pair = tuple[VerdictValue | None, VerdictValue | None]


def _against_reference(item: JudgedItem) -> Pair:
    return item.value, item.reference


def _rows(
    items: Iterable[JudgedItem],
    split: str,
    group: Callable[[JudgedItem], str],
    pair: Callable[[JudgedItem], Pair],
) -> tuple[CardRow, ...]:
    """One row a judge and group, sorted by both."""
    pairs: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for item in items:
        pairs[item.judge, group(item)].append(pair(item))
    return tuple(_row(judge, split, name, pairs[judge, name]) for judge, name in sorted(pairs))


def _row(judge: str, split: str, group: str, pairs: Sequence[Pair]) -> CardRow:
    ratings = [[_decided(a) for a, _ in pairs], [_decided(b) for _, b in pairs]]
    both = [(a, b) for a, b in zip(*ratings, strict=True) if a and b]
    passes = [sum(side[i] is VerdictValue.PASS for side in both) for i in (0, 1)]
    gap = (passes[0] - passes[1]) / len(both) if both else None
    menu = (VerdictValue.PASS, VerdictValue.FAIL)
    return CardRow(judge, split, group, raw_agreement(ratings), gwet_ac1(ratings, menu), gap)


def _decided(value: VerdictValue | None) -> VerdictValue | None:
    """Cannot-judge is a missing rating: it agrees with nothing."""
    return value if value is not None and value.decides else None
