"""How much of the known evidence the engines find. The same code for every source."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.contract import Engine, Evidence

CUTS = (5, 10, 20, 50)

Find = Callable[[str, int, Engine], tuple[Evidence, ...]]


@dataclass(frozen=True)
class Probe:
    """One question with the ids of the events that answer it; ``find`` searches the right history."""

    text: str
    gold: frozenset[str]
    find: Find


def evaluate(probes: Sequence[Probe], engines: Sequence[Engine], say: Callable[[str], None]) -> dict[str, Any]:
    """Engine -> recall, any_hit and all_hit at each cut, mrr, and the time of one search in ms.

    ``recall`` is the mean over probes of the share of gold events among the first k; ``mrr`` the mean of
    one over the rank of the first gold event within 50, 0 where there is none.
    """
    return {engine.value: _one_engine(probes, engine, say) for engine in engines}


def _one_engine(probes: Sequence[Probe], engine: Engine, say: Callable[[str], None]) -> dict[str, Any]:
    recall = np.zeros((len(probes), len(CUTS)))
    ranks = np.zeros(len(probes))
    times_ms = np.zeros(len(probes))
    for row, probe in enumerate(probes):
        started = time.perf_counter()
        found = probe.find(probe.text, max(CUTS), engine)
        times_ms[row] = (time.perf_counter() - started) * 1000
        hits = np.array([evidence.event_id in probe.gold for evidence in found], dtype=bool)
        recall[row] = [hits[:cut].sum() / len(probe.gold) for cut in CUTS]
        ranks[row] = 1 / (1 + int(hits.argmax())) if hits.any() else 0.0
        if (row + 1) % 500 == 0:
            say(f"{engine.value}: {row + 1} of {len(probes)}")
    keys = [str(cut) for cut in CUTS]
    return {
        "recall": dict(zip(keys, np.round(recall.mean(axis=0), 4).tolist(), strict=True)),
        "any_hit": dict(zip(keys, np.round((recall > 0).mean(axis=0), 4).tolist(), strict=True)),
        "all_hit": dict(zip(keys, np.round((recall >= 1).mean(axis=0), 4).tolist(), strict=True)),
        "mrr": round(float(ranks.mean()), 4),
        "ms_p50": round(float(np.percentile(times_ms, 50)), 3),
        "ms_p95": round(float(np.percentile(times_ms, 95)), 3),
    }
