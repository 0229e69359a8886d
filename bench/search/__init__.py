"""Search over one persona's history: lexical, dense, hybrid and deep, behind one function."""

from bench.search.engines import HistorySearch

__all__ = ["HistorySearch"]
