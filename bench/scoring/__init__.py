"""The names under which scripts outside the project call the statistics; the code is in ``bench.statistics``."""
