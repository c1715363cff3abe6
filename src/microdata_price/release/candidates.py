"""Tables that a measurement allows: where a method's variance is tried (ours)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .measure import Measured

Array = NDArray[np.float64]


def _with_total(cells: Array, total: int) -> NDArray[np.int64]:
    """Round to whole numbers of 0 or more with a given sum, by largest remainders."""
    whole = np.floor(np.maximum(cells, 0.0))
    short = total - int(whole.sum())
    if short > 0:
        repeat, rest = divmod(short, cells.size)
        whole += repeat
        whole[np.argsort(-(cells - np.floor(cells)), kind="stable")[:rest]] += 1
    elif short < 0:
        order = np.argsort(-whole, kind="stable")
        left = np.cumsum(whole[order])
        keep = left <= left[-1] + short
        cut = np.where(
            keep, whole[order], np.maximum(0.0, whole[order] - (left - left[-1] - short))
        )
        whole[order] = cut
    return whole.astype(np.int64)


def sparse_table(cells: Array, total: int) -> NDArray[np.int64]:
    """Return the table with the fewest cells that are not empty, the largest, and a given total.

    Examples
    --------
    >>> sparse_table(np.array([7.0, -3.0, 5.0, 2.0]), 10)
    array([7, 0, 3, 0])
    """
    order = np.argsort(-cells, kind="stable")
    sums = np.cumsum(np.maximum(cells[order], 0.0))
    count = int(np.searchsorted(sums, total)) + 1
    kept = np.zeros_like(cells)
    kept[order[:count]] = np.maximum(cells[order[:count]], 0.0)
    return _with_total(kept, total)


def smooth_table(measured: Measured, cells: Array, total: int) -> NDArray[np.int64]:
    """Return the cells drawn together to where they vary as the noise leaves room for.

    Within each query of the finest query set but the cells, every cell moves towards their mean.

    Parameters
    ----------
    measured
        The frozen measurement.
    cells
        The signed answers to the cells.
    total
        The sum.
    """
    coarse = [q for q in measured.workload.query_sets if q.size < q.cells and (q.labels >= 0).all()]
    if not coarse:
        middle = np.full_like(cells, cells.mean())
    else:
        finest = max(coarse, key=lambda q: q.size)
        middle = finest.spread(finest.answers(cells) / finest.counts)
    noise = min((n.variance for n in measured.mechanism.noise[-1:]), default=0.0)
    varies = float(((cells - middle) ** 2).mean())
    share = max(0.0, 1 - noise / varies) if varies > 0 else 0.0
    return _with_total(middle + np.sqrt(share) * (cells - middle), total)


def candidates(
    measured: Measured, cells: Array, table: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Return tables as different as the measurements allow: published, sparse and smooth.

    Parameters
    ----------
    measured
        The frozen measurement.
    cells
        The signed answers to the cells.
    table
        The published table of whole records.
    """
    total = max(0, round(float(cells.sum())))
    return [table.ravel(), sparse_table(cells, total), smooth_table(measured, cells, total)]
