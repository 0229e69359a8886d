"""A reader of single tokens: naive Bayes learned on dev, and the exact area under its ROC curve on test."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

Tokens = Sequence[str]

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class WordReader:
    """Log odds per token, with the prior's log odds; a token never learned says nothing."""

    prior: float
    odds: dict[str, float]

    def score(self, tokens: Tokens) -> float:
        return self.prior + sum(self.odds.get(token, 0.0) for token in tokens)


def learn(positive: Sequence[Tokens], negative: Sequence[Tokens]) -> WordReader:
    """Multinomial naive Bayes with one added to each count. Raises ValueError where a class has no text."""
    if not positive or not negative:
        raise ValueError(f"{len(positive)} positive and {len(negative)} negative texts; learn needs one of each")
    yes, no = (Counter(token for tokens in texts for token in tokens) for texts in (positive, negative))
    known = sorted(yes.keys() | no.keys())
    base = math.log((no.total() + len(known)) / (yes.total() + len(known))) if known else 0.0
    odds = {token: math.log((yes[token] + 1) / (no[token] + 1)) + base for token in known}
    return WordReader(math.log(len(positive) / len(negative)), odds)


def learn_each(texts: Mapping[str, Sequence[Tokens]]) -> dict[str, WordReader]:
    """For each class a reader that tells it from all others; a class alone needs no words."""
    if len(texts) < 2:
        return {name: WordReader(0.0, {}) for name in texts}
    return {
        name: learn(own, [tokens for other in texts if other != name for tokens in texts[other]])
        for name, own in texts.items()
    }


def best(readers: Mapping[str, WordReader], tokens: Tokens) -> list[str]:
    """The classes that score highest, more than one where they tie; none where there is no class."""
    scores = {name: reader.score(tokens) for name, reader in readers.items()}
    top = max(scores.values(), default=0.0)
    return [name for name, score in scores.items() if math.isclose(score, top, rel_tol=1e-9, abs_tol=1e-9)]


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


def words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
