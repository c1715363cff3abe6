"""Least squares where every cell is asked by itself: the aggregates are eliminated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..model.workload import Workload

Array = NDArray[np.float64]

MOST_AGGREGATES = 4000  # queries beside the cells for which a dense matrix is made


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
        least, most = min(self._variances), workload.cells * self._variances[self._cells]
        self.hidden = 2.0**-52 * most / least  # of the smallest noise, what rounding may take

    @staticmethod
    def serves(workload: Workload) -> bool:
        """Return whether the workload asks for the cells and for few enough other queries."""
        others = sum(q.size for q in workload.query_sets if not q.is_identity)
        return 0 < others <= MOST_AGGREGATES and any(q.is_identity for q in workload.query_sets)

    @cached_property
    def _inverse(self) -> tuple[Array, Array]:
        """``S^-1``, shape (aggregates, aggregates), and the diagonal of ``F F' S^-1 / D``."""
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
        inverse = np.linalg.inv(matrix + np.diag(own))
        return inverse, np.einsum("ij,ij->i", matrix, inverse)

    def solve(self, answers: Sequence[Array]) -> Array:
        """Return the cells of least squares, (runs, cells), from an array of answers a set."""
        sets = self._workload.query_sets
        given = answers[self._cells]
        # In terms of the residuals of the aggregates at the cells' own answers.
        off = np.concatenate([answers[k] - sets[k].answers(given) for k in self._others], axis=1)
        pull = off @ self._inverse[0]
        x, start = given.copy(), 0
        for k in self._others:
            part = pull[:, start : start + sets[k].size]
            x += self._variances[self._cells] * sets[k].spread(part)
            start += sets[k].size
        return np.asarray(x)

    def variances(self, loss: float) -> tuple[Array, ...] | None:
        """Return the variance of every query's answer, one array a query set, in squared counts.

        ``None`` where rounding may take more than a part of one: the cells' noise hides smaller
        ones, which reappear as it cancels.
        """
        sets, v = self._workload.query_sets, self._variances[self._cells]
        if self.hidden > loss:
            return None
        inverse, told = self._inverse
        ends = np.cumsum([0, *(sets[k].size for k in self._others)])
        cells = np.full(self._workload.cells, v)
        for i, a in enumerate(self._others):
            for j, b in enumerate(self._others):
                p, q = sets[a].labels, sets[b].labels
                both = (p >= 0) & (q >= 0)
                cells[both] -= v * v * inverse[ends[i] + p[both], ends[j] + q[both]]
        found: list[Array] = [cells] * len(sets)
        for i, k in enumerate(self._others):
            own, part = self._variances[k], slice(ends[i], ends[i + 1])
            # Of two equal forms, the one in which the smaller part is taken off.
            found[k] = own * (told[part] if own > v else 1 - own * np.diagonal(inverse)[part])
        whole = [min(u, v * q.counts.max()) for u, q in zip(self._variances, sets, strict=True)]
        sure = all(self.hidden * w <= loss * f.min() for w, f in zip(whole, found, strict=True))
        return tuple(found) if sure else None
