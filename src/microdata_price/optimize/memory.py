"""Memory that stays: batches work on arrays of a few megabytes that come and go all the time."""

from __future__ import annotations

from functools import cache

import numpy as np

_LARGEST = 31 << 20
"""Just under the largest block that glibc learns from."""


@cache
def keep_memory() -> None:
    """Make the C library keep the memory of arrays that are freed, where it is glibc.

    At first glibc takes arrays of more than 128 KiB from the operating system one by one and gives
    them back when they are freed, so that each new array costs a page fault for every 4 KiB, which
    takes longer than filling it. It raises both limits when a larger block is freed: freeing one
    of 31 MiB that was never touched, so that it takes no memory, raises them as far as they go.
    From then on the process keeps up to 64 MiB that it has freed. Other C libraries do not care.

    Examples
    --------
    >>> keep_memory()
    """
    np.empty(_LARGEST, dtype=np.uint8)
