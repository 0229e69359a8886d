"""Methods that belong together, by name."""

from __future__ import annotations

PRESETS: dict[str, tuple[str, ...]] = {
    "paper_table": ("rag", "iba", "iba_fc"),
    "baselines": ("no_history", "recency", "rag", "profile", "react", "reminder", "iba", "oracle"),
    "ablation": ("iba", "iba-deep_retrieval", "iba-broad_thinking", "iba-synthesis"),
    "cost": ("iba", "iba_fc", "rag", "full_history"),
}
