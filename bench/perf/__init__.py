"""Timings of what users wait for. `make perf`; never part of the tests."""

from bench.perf.measure import Row
from bench.perf.suites import SUITES

__all__ = ["SUITES", "Row"]
