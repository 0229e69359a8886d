"""Which words of two texts are the same word: the check that a cue does not give its value away."""

from __future__ import annotations

import re
import threading
from functools import lru_cache

import Stemmer
from bm25s.stopwords import STOPWORDS_EN_PLUS

_WORD = re.compile(r"[^\W\d_]+", re.UNICODE)
_ANY_WORD = re.compile(r"\w+")
_ARTICLES = frozenset({"a", "an", "the"})
_STOP = frozenset(STOPWORDS_EN_PLUS)
_local = threading.local()


def _stemmer() -> Stemmer.Stemmer:
    if not hasattr(_local, "stemmer"):
        _local.stemmer = Stemmer.Stemmer("english")
    return _local.stemmer


def content_stems(text: str) -> frozenset[str]:
    """Stems of the words that carry meaning, three letters or longer."""
    words = [w for w in _WORD.findall(text.lower()) if len(w) > 2 and w not in _STOP]
    return frozenset(_stemmer().stemWords(words))


def stems(text: str) -> list[str]:
    """Stems of all words and numbers but articles, in their order."""
    words: list[str] = [word for word in _ANY_WORD.findall(text.lower()) if word not in _ARTICLES]
    return list(_stemmer().stemWords(words))


def holds_phrase(text: str, phrase: str) -> bool:
    """Whether the words of ``phrase`` stand in ``text`` one after the other, by their stems."""
    told, sought = (_stemmer().stemWords(_WORD.findall(t.lower())) for t in (text, phrase))
    return bool(sought) and any(told[i : i + len(sought)] == sought for i in range(len(told)))


@lru_cache(maxsize=4096)  # each cue of a value is compared with all its others
def all_stems(text: str) -> frozenset[str]:
    return frozenset(_stemmer().stemWords(_WORD.findall(text.lower())))


def similarity(first: str, second: str) -> float:
    """Jaccard overlap of all word stems, 0..1."""
    a, b = all_stems(first), all_stems(second)
    return len(a & b) / len(a | b) if a | b else 1.0
