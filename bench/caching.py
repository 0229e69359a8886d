"""Caches for many threads: what is missing is made by one of them, and the others wait for it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from threading import RLock
from typing import ParamSpec, TypeVar

Key = ParamSpec("Key")
Made = TypeVar("Made")

_LOCKS = 64  # keys that share one wait for one another now and then


def made_once(maxsize: int | None = None) -> Callable[[Callable[Key, Made]], Callable[Key, Made]]:
    """``functools.lru_cache`` whose function is never at work twice for the same arguments.

    ``cache_clear`` of the result empties it. What raises is not kept.
    """

    def decorate(make: Callable[Key, Made]) -> Callable[Key, Made]:
        kept = lru_cache(maxsize)(make)
        locks = tuple(RLock() for _ in range(_LOCKS))

        @wraps(make)
        def found(*args: Key.args, **kwargs: Key.kwargs) -> Made:
            key: Hashable = (args, tuple(sorted(kwargs.items())))
            with locks[hash(key) % _LOCKS]:
                return kept(*args, **kwargs)  # type: ignore[arg-type]

        found.cache_clear = kept.cache_clear  # type: ignore[attr-defined]
        return found

    return decorate
