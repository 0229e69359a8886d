from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

from bench.caching import made_once


def test_what_many_threads_ask_for_at_once_is_made_by_one_of_them():
    made, all_there, go_on = [], Barrier(9), Event()

    @made_once(4)
    def slow(key: str) -> str:
        made.append(key)
        assert go_on.wait(20)
        return key.upper()

    def ask() -> str:
        all_there.wait(20)
        return slow("a")

    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(ask) for _ in range(8)]
        all_there.wait(20)
        go_on.set()
        assert {one.result(20) for one in asked} == {"A"}
    assert made == ["a"]


def test_what_failed_is_made_again_and_what_was_forgotten_too():
    tries = []

    @made_once()
    def third() -> int:
        tries.append(1)
        if len(tries) < 3:
            raise OSError("not yet")
        return len(tries)

    for _ in range(2):
        with pytest.raises(OSError, match="not yet"):
            third()
    assert (third(), third()) == (3, 3)
    third.cache_clear()
    assert third() == 4


def test_one_that_needs_another_of_its_kind_does_not_wait_for_itself():
    @made_once()
    def down(n: int) -> int:
        return 0 if n == 0 else 1 + down(n - 1)

    assert down(200) == 200
