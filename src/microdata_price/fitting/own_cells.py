"""Least squares where every cell is asked by itself: the aggregates are eliminated."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..model.workload import Workload

Array = NDArray[np.float64]

MOST_AGGREGATES = 4000  # queries beside the cells for which a dense matrix is made


def asks_cells(workload: Workload, most: float = MOST_AGGREGATES) -> bool:
    """Return whether a workload asks for the cells and for few enough other queries."""
    others = sum(q.size for q in workload.query_sets if not q.is_identity)
    return 0 < others <= most and any(q.is_identity for q in workload.query_sets)


def own_variances(
    workload: Workload, variances: Sequence[float], loss: float
) -> tuple[Array, ...] | None:
    """Return the variance of every query's answer, one array a query set, in squared counts.

    With D the weight of a cell, W those of the other queries F, the normal matrix is ``D + F'WF``.
    Its inverse is ``1/D - F' S^-1 F / D^2`` with ``S = W^-1 + F F'/D``, of one row an aggregate.
    ``None`` where rounding may take more than a part ``loss`` of a variance: the cells' noise hides
    smaller ones, which reappear as it cancels.

    Examples
    --------
    >>> own_variances(Workload.table(2), [60.0, 60.0], 1e-9)
    (array([40.]), array([40., 40.]))
    """
    every = workload.query_sets
    cell = next(k for k, q in enumerate(every) if q.is_identity)
    others, v = [k for k in range(len(every)) if k != cell], float(variances[cell])
    # Of the smallest noise, what rounding may take.
    hidden = 2.0**-52 * workload.cells * v / min(variances)
    if hidden > loss:
        return None
    sets = [every[k] for k in others]
    ends = np.cumsum([0, *(q.size for q in sets)])
    places = [slice(start, end) for start, end in itertools.pairwise(ends)]
    rows = sp.csr_array(sp.vstack([q.matrix for q in sets]))
    matrix = (rows @ rows.T).toarray() * v
    own = np.repeat([variances[k] for k in others], [q.size for q in sets])
    inverse = np.linalg.inv(matrix + np.diag(own))
    told = np.einsum("ij,ij->i", matrix, inverse)
    cells = np.full(workload.cells, v)
    for a, i in zip(sets, places, strict=True):
        for b, j in zip(sets, places, strict=True):
            both = (a.labels >= 0) & (b.labels >= 0)
            cells[both] -= v * v * inverse[i, j][a.labels[both], b.labels[both]]
    found: list[Array] = [cells] * len(every)
    for k, i in zip(others, places, strict=True):
        # Of two equal forms, the one in which the smaller part is taken off.
        kept = told[i] if variances[k] > v else 1 - variances[k] * np.diagonal(inverse)[i]
        found[k] = variances[k] * kept
    whole = [min(u, v * q.counts.max()) for u, q in zip(variances, every, strict=True)]
    sure = all(hidden * w <= loss * f.min() for w, f in zip(whole, found, strict=True))
    return tuple(found) if sure else None
