"""One thread of linear algebra, since the problems are many and small."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
"""The environment of a new process that shall use one."""


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all loaded libraries, which takes a while


def one_thread() -> AbstractContextManager[Any]:
    """Return a context in which linear algebra uses one thread of this process.

    Several threads may add in another order. They gain nothing on small matrices, and where other
    work takes the processors they wait for each other: a fit then takes ten times as long.
    """
    libraries = _controller()
    if all(library.num_threads == 1 for library in libraries.lib_controllers):
        return nullcontext()  # as in the grid's workers: setting and resetting takes longer
    limits: AbstractContextManager[Any] = libraries.limit(limits=1)
    return limits
