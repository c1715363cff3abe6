"""Refusal of fits that do not fit in memory, before they begin."""

from __future__ import annotations

from collections.abc import Sequence

import psutil

from ..exceptions import InputError
from ..model.queryset import QuerySet
from .tuning import TUNING


def memory_needed(sets: Sequence[QuerySet], runs: int) -> float:
    """Estimate the bytes that a fit of any method takes at its peak, on the high side."""
    cells, queries = sets[0].cells, sum(q.size for q in sets)
    # Measured, in arrays of 8-byte numbers: those kept for all runs, those of a block of runs and,
    # in max fitting, for each two sets; and dense matrices without the longest set.
    kept = 6 * runs * (cells + queries)
    block = (30 + 4 * len(sets)) * max(cells, min(runs * cells, TUNING.block_cells))
    cuts = 3 * len(sets) ** 2 * cells
    longest = max((q.size for q in sets if q.size < cells), default=0)
    rest = min(queries - longest, TUNING.dense_unknowns)
    dense = 3 * min(rest * (rest + longest), TUNING.dense_entries)
    return 8.0 * (kept + block + cuts + dense)


def check_memory(sets: Sequence[QuerySet], runs: int, most: float | None = None) -> None:
    """Refuse a workload that does not fit in memory."""
    limit = psutil.virtual_memory().total if most is None else most
    needed = memory_needed(sets, runs)
    if needed > limit:
        cells, queries = sets[0].cells, sum(q.size for q in sets)
        raise InputError(
            f"fitting {queries:,} answers on a table of {cells:,} cells in {runs:,} "
            f"{'run' if runs == 1 else 'runs'} at once needs about {needed / 1e9:.1f} GB of memory "
            f"and there are {limit / 1e9:.1f} GB; ask for fewer runs, or a table with fewer cells"
        )
