"""How the stand-in compares texts: centred embeddings, shared word stems, and age.

Cosines of the embedding model lie between 0.7 and 0.9 whatever the texts, so only
their differences count: each is taken against the means of its row and its column.
"""

from __future__ import annotations

import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache

import numpy as np
import Stemmer
from numpy.typing import NDArray

Array = NDArray[np.float32]
Embed = Callable[[list[str], str], Array]

HALF_LIFE_DAYS = 150.0
COLUMN_SHRINKAGE = 4.0  # lines it takes until an option's mean over the lines is half believed

_WORD = re.compile(r"[^\W_]+")
_LOCAL = threading.local()
_STOP_WORDS = (
    "a an the and or but of to in on at for with by from as is are was were be been it its this that these those "
    "i me my you your he she they them their we our us do does did not no so if than then there here what which "
    "who where when how any every all some has have had will would can could should may might into over up out about"
)
_STOP = frozenset(_STOP_WORDS.split())
_DOUBT = re.compile(
    r"\b(?:mum|mom|mother|dad|father|sister|brother|aunt|uncle|gran\w*|neighbour|flatmate|colleague|boss|friend)(?:'s)?\b"
    r"|\b(?:would|could|might|if i|imagine|suppose|used to|back then|years ago|as a kid|in the (?:film|book|novel)"
    r"|yeah right|as if|never mind|scrap that|just kidding)\b",
    re.IGNORECASE,
)


def centred(lines: Sequence[str], options: Sequence[str], embed: Embed) -> Array:
    """(lines, options) similarities less the row's mean and, shrunk for few lines, the column's."""
    if not lines or not options:
        return np.zeros((len(lines), len(options)), np.float32)
    raw = embed(list(lines), "passage") @ embed(list(options), "query").T
    rows = raw - raw.mean(axis=1, keepdims=True)
    share = len(lines) / (len(lines) + COLUMN_SHRINKAGE)
    result: Array = (rows - share * rows.mean(axis=0, keepdims=True)).astype(np.float32)
    return result


def rare_overlap(lines: Sequence[str], options: Sequence[str]) -> Array:
    """(lines, options) summed rarity of the shared stems, less the mean over the lines. Rare is what few lines have."""
    sets = [stems(line) for line in lines]
    counts = Counter(stem for words in sets for stem in words)
    rarity = {stem: math.log(1 + len(lines) / count) for stem, count in counts.items()}
    table = np.array(
        [[sum(rarity[stem] for stem in words & stems(option)) for option in options] for words in sets], np.float32
    ).reshape(len(lines), len(options))
    result: Array = table - table.mean(axis=0, keepdims=True) if len(lines) else table
    return result


def cosines(one: Sequence[str], other: Sequence[str], embed: Embed, kinds: tuple[str, str]) -> Array:
    """(one, other) plain cosines."""
    if not one or not other:
        return np.zeros((len(one), len(other)), np.float32)
    result: Array = embed(list(one), kinds[0]) @ embed(list(other), kinds[1]).T
    return result


def standard(values: Array) -> Array:
    """Less the mean, over the standard deviation; zeros where all are equal."""
    spread = float(values.std())
    result: Array = (values - values.mean()) / spread if spread > 1e-6 else np.zeros_like(values)
    return result


def recency(at: datetime, now: datetime) -> float:
    """1 for today, a half for each ``HALF_LIFE_DAYS``."""
    return float(0.5 ** (max((now - at).days, 0) / HALF_LIFE_DAYS))


@lru_cache(maxsize=20_000)
def trust(text: str) -> float:
    """Less for texts that may be about somebody else, about the past, or not meant."""
    return 0.4 if _DOUBT.search(text) else 1.0


@lru_cache(maxsize=20_000)
def stems(text: str) -> frozenset[str]:
    """Stems of the content words."""
    stemmer = getattr(_LOCAL, "stemmer", None)
    if stemmer is None:
        stemmer = _LOCAL.stemmer = Stemmer.Stemmer("english")
    words = [word.lower() for word in _WORD.findall(text.replace("_", " "))]
    return frozenset(stemmer.stemWords([word for word in words if word not in _STOP]))


def coverage(wanted: str, text: str) -> float:
    """Share of the content words of ``wanted`` that ``text`` has; 0 where it has none."""
    words = stems(wanted)
    return len(words & stems(text)) / len(words) if words else 0.0
