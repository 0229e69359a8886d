"""See ``bench.statistics.ppi``."""

from bench.statistics.ppi import mean_interval

__all__ = ["mean_interval"]
