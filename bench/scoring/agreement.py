"""See ``bench.statistics.agreement``."""

from bench.statistics.agreement import cohen_kappa, gwet_ac1, krippendorff_alpha, raw_agreement

__all__ = ["cohen_kappa", "gwet_ac1", "krippendorff_alpha", "raw_agreement"]
