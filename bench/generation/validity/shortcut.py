"""What a shortcut reader reached on test, and the most that it may."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypedDict

from bench.generation.validity.content import Question
from bench.generation.validity.word_reader import rank_auc
from bench.models import Split
from bench.statistics.intervals import clustered_mean

MARGIN = 0.03  # above chance
MOST_AUC = 0.60
SHOWN = 10  # offenders by name


class ShortcutRow(TypedDict):
    """``offenders``: the first ten of ``offenders_total``; low and high are null where the value is no share."""

    name: str
    value: float | None
    limit: float
    n: int
    low: float | None
    high: float | None
    offenders: list[str]
    offenders_total: int
    split: str
    learned_on: str
    verdict: str


@dataclass(frozen=True)
class Shortcut:
    """``value`` is None where there was nothing to learn from or nothing to read."""

    name: str
    value: float | None
    limit: float
    n: int
    low: float | None = None
    high: float | None = None
    offenders: tuple[str, ...] = ()  # what the reader got right, or what is shared
    split: str = Split.TEST
    learned_on: str = ""

    @property
    def verdict(self) -> str:
        if self.value is None:
            return "not measured"
        return "met" if self.value <= self.limit + 1e-9 else "not met"

    def to_json(self) -> ShortcutRow:
        def short(number: float | None) -> float | None:
            return None if number is None else round(number, 4)

        return {
            "name": self.name,
            "value": short(self.value),
            "limit": round(self.limit, 4),
            "n": self.n,
            "low": short(self.low),
            "high": short(self.high),
            "offenders": list(self.offenders[:SHOWN]),
            "offenders_total": len(self.offenders),
            "split": self.split,
            "learned_on": self.learned_on,
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class Credit:
    """What a reader earned on one thing: 1 for right, a share where it could only guess among several."""

    name: str
    persona: str
    earned: float
    chance: float


def share(
    name: str, credits: Sequence[Credit], *, limit: float | None = None, margin: float = MARGIN, learned_on: str = ""
) -> Shortcut:
    """The mean credit against ``limit``, or against chance and ``margin`` where none is given."""
    chance = sum(credit.chance for credit in credits) / len(credits) if credits else 0.0
    found = clustered_mean([credit.earned for credit in credits], [credit.persona for credit in credits])
    right = tuple(credit.name for credit in credits if credit.earned == 1)
    most = chance + margin if limit is None else limit
    return Shortcut(name, found.mean, most, found.n, found.low, found.high, right, learned_on=learned_on)


def guess(
    name: str,
    questions: Sequence[Question],
    pick: Callable[[Question], Sequence[str]],
    *,
    options: bool = False,
    limit: float | None = None,
    learned_on: str = "",
) -> Shortcut:
    """A reader that names values (or ``options``) it holds equally likely; where it names none it guesses."""

    def credit(question: Question) -> Credit:
        named, right = pick(question), question.wanted if options else question.value
        earned = sum(one == right for one in named) / len(named) if named else question.chance
        return Credit(question.name, question.persona, earned, question.chance)

    return share(name, [credit(question) for question in questions], limit=limit, learned_on=learned_on)


def area(name: str, positive: Sequence[tuple[float, str]], negative: Sequence[tuple[float, str]]) -> Shortcut:
    """Scored texts of both classes. Offenders: the positive ones that score above 0, the surest first."""
    n = len(positive) + len(negative)
    if not positive or not negative:
        return Shortcut(name, None, MOST_AUC, n, learned_on=Split.DEV)
    value = rank_auc([score for score, _ in positive], [score for score, _ in negative])
    telling = dict.fromkeys(text for score, text in sorted(positive, key=lambda one: (-one[0], one[1])) if score > 0)
    return Shortcut(name, value, MOST_AUC, n, offenders=tuple(telling), learned_on=Split.DEV)
