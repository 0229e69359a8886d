"""See ``bench.statistics.repeats``."""

from bench.statistics.repeats import pass_at_k, pass_hat_k

__all__ = ["pass_at_k", "pass_hat_k"]
