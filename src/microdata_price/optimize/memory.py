"""How much memory a fit takes, so that one that cannot be done is refused before it begins."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import psutil

from ..exceptions import InputError
from ..model.queryset import QuerySet
from .tuning import TUNING

_NUMBER = 8
"""Bytes of a number."""
_TABLES, _A_SET = 30, 4
"""Arrays as large as the table in a block of runs, and more for each query set: measured."""
_KEPT = 6
"""Arrays as large as all cells and answers that are kept for all runs: measured."""
_CUTS = 3
"""Numbers for each cell and pair of sets among which max fitting looks for cuts: measured."""


@cache
def _machine() -> float:
    """Return the machine's memory in bytes; asked once."""
    return float(psutil.virtual_memory().total)


def memory_needed(sets: Sequence[QuerySet], runs: int) -> float:
    """Estimate the bytes that a fit of any method takes at its peak, on the high side (ours)."""
    cells, queries = sets[0].cells, sum(q.size for q in sets)
    block = max(cells, min(runs * cells, TUNING.block_cells))
    kept = _KEPT * runs * (cells + queries)
    pairs = len(sets) * (len(sets) - 1)
    longest = max((q.size for q in sets if q.size < cells), default=0)
    rest = min(queries - longest, TUNING.dense_unknowns)
    dense = 3 * min(rest * (rest + longest), TUNING.dense_entries)
    work = (_TABLES + _A_SET * len(sets)) * block + _CUTS * pairs * cells
    return float(_NUMBER * (kept + work + dense))


def check_memory(sets: Sequence[QuerySet], runs: int, most: float | None = None) -> None:
    """Refuse a workload that does not fit in memory.

    Examples
    --------
    >>> check_memory([QuerySet.identity(1000)], runs=10)
    """
    limit = _machine() if most is None else most
    needed = memory_needed(sets, runs)
    if needed > limit:
        cells, queries = sets[0].cells, sum(q.size for q in sets)
        raise InputError(
            f"fitting {queries:,} answers on a table of {cells:,} cells in {runs:,} "
            f"{'run' if runs == 1 else 'runs'} at once needs about {needed / 1e9:.1f} GB of memory "
            f"and there are {limit / 1e9:.1f} GB; ask for fewer runs, or a table with fewer cells"
        )
