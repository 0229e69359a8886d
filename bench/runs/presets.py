"""Experiments by name: which methods, under which conditions."""

from __future__ import annotations

from dataclasses import dataclass

BASELINES = ("no_history", "recency", "rag", "profile", "react", "reminder")


@dataclass(frozen=True)
class Preset:
    """``noises``: one run on a dataset of each share of noise, that of the named dataset where empty."""

    methods: tuple[str, ...]
    transfer: bool = False  # evidence from other domains only
    noises: tuple[float, ...] = ()


PRESETS = {
    "paper_table": Preset(("rag", "iba", "iba_fc")),
    "baselines": Preset((*BASELINES, "iba", "oracle")),
    "ablation": Preset(("iba", "iba-deep_retrieval", "iba-broad_thinking", "iba-synthesis")),
    "noise_sweep": Preset(("iba", "rag", "recency", "no_history"), noises=(0.0, 0.3, 0.5, 0.7)),
    "transfer": Preset(("iba", "rag", "recency", "no_history"), transfer=True),
    "cost": Preset(("iba", "iba_fc", "rag", "full_history")),
}
