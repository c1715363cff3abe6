"""Least squares where every cell is asked by itself: the aggregates are eliminated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..model.workload import Workload

Array = NDArray[np.float64]

MOST_AGGREGATES = 4000
"""Queries beside the cells for which a dense matrix is made."""


class OwnCells:
    """Ordinary least squares for a workload that asks for the cells and any other sets.

    With D the weight of a cell, W those of the other queries F, the normal matrix is ``D + F'WF``.
    Its inverse is ``1/D - F' S^-1 F / D^2`` with ``S = W^-1 + F F'/D``, of one row an aggregate.

    Examples
    --------
    >>> solver = OwnCells(Workload.table(2), [64.0, 64.0])
    >>> solver.solve((np.array([[9.0]]), np.array([[8.0, -2.0]]))).round(9)
    array([[ 9., -1.]])
    """

    def __init__(self, workload: Workload, variances: Sequence[float]) -> None:
        sets = workload.query_sets
        self._workload = workload
        self._variances = [float(v) for v in variances]
        self._cells = next(k for k, q in enumerate(sets) if q.is_identity)
        self._others = [k for k in range(len(sets)) if k != self._cells]

    @staticmethod
    def serves(workload: Workload) -> bool:
        """Return whether the workload asks for the cells and for few enough other queries."""
        others = sum(q.size for q in workload.query_sets if not q.is_identity)
        asked = any(q.is_identity for q in workload.query_sets)
        return asked and 0 < others <= MOST_AGGREGATES

    @cached_property
    def _inverse(self) -> Array:
        """``S^-1``, shape (aggregates, aggregates)."""
        sets = [self._workload.query_sets[k] for k in self._others]
        v = self._variances[self._cells]
        ends = np.cumsum([0, *(q.size for q in sets)])
        matrix = np.zeros((ends[-1], ends[-1]))
        for i, a in enumerate(sets):
            for j, b in enumerate(sets[: i + 1]):
                both = (a.labels >= 0) & (b.labels >= 0)
                code = a.labels[both] * b.size + b.labels[both]
                block = np.bincount(code, minlength=a.size * b.size).reshape(a.size, b.size) * v
                matrix[ends[i] : ends[i + 1], ends[j] : ends[j + 1]] = block
                matrix[ends[j] : ends[j + 1], ends[i] : ends[i + 1]] = block.T
        own = np.repeat([self._variances[k] for k in self._others], [q.size for q in sets])
        matrix[np.diag_indices_from(matrix)] += own
        return np.asarray(np.linalg.inv(matrix))

    def solve(self, answers: Sequence[Array]) -> Array:
        """Return the cells of least squares, (runs, cells), from an array of answers a set."""
        sets = self._workload.query_sets
        given = answers[self._cells]
        # In terms of the residuals of the aggregates at the cells' own answers.
        off = np.concatenate([answers[k] - sets[k].answers(given) for k in self._others], axis=1)
        pull = off @ self._inverse
        x, start = given.copy(), 0
        for k in self._others:
            part = pull[:, start : start + sets[k].size]
            x += self._variances[self._cells] * sets[k].spread(part)
            start += sets[k].size
        return np.asarray(x)

    def variances(self) -> tuple[Array, ...]:
        """Return the variance of every query's answer, one array a query set, in squared counts."""
        sets, v = self._workload.query_sets, self._variances[self._cells]
        inverse = self._inverse
        ends = np.cumsum([0, *(sets[k].size for k in self._others)])
        cells = np.full(self._workload.cells, v)
        for i, a in enumerate(self._others):
            for j, b in enumerate(self._others):
                p, q = sets[a].labels, sets[b].labels
                both = (p >= 0) & (q >= 0)
                cells[both] -= v * v * inverse[ends[i] + p[both], ends[j] + q[both]]
        found: list[Array] = [cells] * len(sets)
        for i, k in enumerate(self._others):
            own = self._variances[k]
            diagonal = np.diagonal(inverse)[ends[i] : ends[i + 1]]
            found[k] = own - own * own * diagonal
        return tuple(np.maximum(f, 0.0) for f in found)
