"""A reader of single words: naive Bayes learned on dev, and the exact area under its ROC curve on test."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class WordReader:
    """Log odds per word, with the prior's log odds; a word never learned says nothing."""

    prior: float
    odds: dict[str, float]

    def score(self, text: str) -> float:
        return self.prior + sum(self.odds.get(word, 0.0) for word in _words(text))


def learn(positive: Sequence[str], negative: Sequence[str]) -> WordReader:
    """Multinomial naive Bayes with one added to each count. Raises ValueError where a class has no text."""
    if not positive or not negative:
        raise ValueError(f"{len(positive)} positive and {len(negative)} negative texts; learn needs one of each")
    yes, no = (Counter(word for text in texts for word in _words(text)) for texts in (positive, negative))
    words = sorted(yes.keys() | no.keys())
    base = math.log((no.total() + len(words)) / (yes.total() + len(words))) if words else 0.0
    odds = {word: math.log((yes[word] + 1) / (no[word] + 1)) + base for word in words}
    return WordReader(math.log(len(positive) / len(negative)), odds)


def rank_auc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Chance that a positive scores above a negative, a tie counting half; 0.5 where a class is empty."""
    if not positive or not negative:
        return 0.5
    scored = sorted([(score, 1) for score in positive] + [(score, 0) for score in negative])
    below, wins = 0, 0.0
    for _, group in groupby(scored, key=lambda pair: pair[0]):
        marks = [mark for _, mark in group]
        up, down = sum(marks), len(marks) - sum(marks)
        wins += up * (below + down / 2)
        below += down
    return wins / (len(positive) * len(negative))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
