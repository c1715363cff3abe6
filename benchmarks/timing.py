"""How time is measured: processor time, one thread, the least of several repeats."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS to one thread, so that times are those of one core."""
    with threadpool_limits(limits=1):
        yield


def least_seconds(call: Callable[[], object], repeats: int, most: float = 20.0) -> float:
    """Return the least processor time of several calls, in seconds.

    Other processes slow a call down but never speed it up, so the least is the best estimate.
    After ``most`` seconds no further repeat is begun.
    """
    best, spent = float("inf"), 0.0
    for _ in range(repeats):
        start = time.process_time()
        call()
        took = time.process_time() - start
        best, spent = min(best, took), spent + took
        if spent > most:
            break
    return best
