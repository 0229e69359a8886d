"""Baselines that IBA-Agent must beat, one file each. All act through ``agents.toolkit.acting``."""
