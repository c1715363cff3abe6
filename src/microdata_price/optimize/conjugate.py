r"""Any disjoint query sets, too many for a dense matrix: conjugate gradients.

The Newton matrix :math:`U \mathrm{diag}(p) U' + \mathrm{diag}(q)` is used through its products
alone. Each cell is in one query a set, so the columns of U that belong to free cells are a sparse
matrix with as many entries as there are free cells times sets, made anew for each system from the
sets' labels. The preconditioner is the diagonal, which holds all that the queries of one set say
of each other; what couples the sets is left to the iterations. They are few, since a system is
solved only as far as the Newton step can use (`Tuning.forcing`; Dembo, Eisenstat and Steihaug,
"Inexact Newton methods", SIAM Journal on Numerical Analysis 19 (1982), 400-408).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..model.queryset import QuerySet
from .boxed import largest_of
from .eliminate import regular
from .problem import Problem
from .single_sums import SingleSums, sets_and_sums
from .tuning import TUNING

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Conjugate(SingleSums):
    """Sets of disjoint queries, then single sums, in this order."""

    shape: tuple[int, ...]  # the table's shape
    sets: tuple[QuerySet, ...]  # the query sets
    members: tuple[Array, ...]
    # For each cell and set the aggregate that counts it, shape (cells, sets); the number of
    # aggregates where none does.
    columns: NDArray[np.int32]

    def rmatvec(self, y: Array) -> Array:
        """Return U'y, shape (runs, cells)."""
        shape, runs = self.shape, y.shape[0]
        table = np.zeros((runs, *shape))
        flat = table.reshape(runs, math.prod(shape))  # a view
        start = 0
        for q in self.sets:
            part = y[:, start : start + q.size]
            start += q.size
            if q.axes is None:
                flat += q.spread(part)
            else:
                table += part.reshape(runs, *(n if a in q.axes else 1 for a, n in enumerate(shape)))
        self.add_sums_forces(flat, y, start)
        return flat

    def matvec(self, x: Array) -> Array:
        """Return Ux, shape (runs, aggregates)."""
        tables = x.reshape(len(x), *self.shape)
        parts = [q.answers(tables) for q in self.sets]
        return np.concatenate(parts + self.sums_of(x), axis=1)

    def largest(self, x: Array) -> Array:
        """Return the largest entry of x among each aggregate's cells, shape (runs, aggregates)."""
        parts = [largest_of(q, x) for q in self.sets]
        return np.concatenate(parts + self.largest_in_sums(x), axis=1)

    def solve(self, free: Array, inverse_weight: Array, residual: Array, ridge: Array) -> Array:
        """Solve the Newton system, about; see `Structure`."""
        own = self.matvec(free)
        diagonal = regular(own, inverse_weight, ridge)
        steps = np.empty_like(residual)
        for run, p in enumerate(free):
            columns = self._columns(run, p)
            steps[run] = _conjugate_gradients(
                columns, diagonal[run] - own[run], diagonal[run], residual[run]
            )
        return steps

    def _columns(self, run: int, p: Array) -> sp.csr_array:
        """Return ``diag(p)^(1/2) U'`` of one run's free cells, with a column for no query."""
        cells = np.flatnonzero(p)
        none = sum(q.size for q in self.sets) + len(self.members)
        columns = self.columns[cells]
        if self.members:
            extra = [
                np.where(v[run if v.shape[0] > 1 else 0, cells] > 0, k, none)
                for k, v in enumerate(self.members, none - len(self.members))
            ]
            columns = np.column_stack([columns, *extra]).astype(np.int32)
        each = columns.shape[1]
        data = np.repeat(np.sqrt(p[cells]), each)
        ends = np.arange(0, data.size + 1, each, dtype=np.int32)
        return sp.csr_array((data, columns.ravel(), ends), shape=(cells.size, none + 1))


def _conjugate_gradients(
    columns: sp.csr_array, extra: Array, diagonal: Array, right: Array
) -> Array:
    """Solve ``(B'B + diag(extra)) x = right`` from x = 0, B without its last column.

    Unlike `scipy.sparse.linalg.cg` this measures the residual in the preconditioner's norm, in
    which queries of many and of few cells count alike.
    """
    n = right.size
    transposed = columns.T
    x, r = np.zeros(n), right.copy()
    direction = np.zeros(n + 1)  # the last entry stays 0: cells that a set does not count
    z = r / diagonal
    direction[:n] = z
    size = float(r @ z)
    goal = TUNING.forcing**2 * size
    for _ in range(2000):
        product = (transposed @ (columns @ direction))[:n] + extra * direction[:n]
        bend = float(product @ direction[:n])
        if not bend > 0:  # all is solved, or rounding is left
            break
        length = size / bend
        x += length * direction[:n]
        r -= length * product
        z = r / diagonal
        before, size = size, float(r @ z)
        if size <= goal:
            break
        direction[:n] = z + (size / before) * direction[:n]
    return x


def conjugate(problem: Problem, aggregates: list[int]) -> tuple[Conjugate, list[int]]:
    """Return the structure of any query sets, and the numbers of the terms in its order."""
    numbers, singles = sets_and_sums(problem, aggregates)
    sets = tuple(numbers.values())
    starts = np.cumsum([0, *(q.size for q in sets)])
    none = int(starts[-1]) + len(singles)
    columns = np.empty((problem.cells, len(sets)), dtype=np.int32)
    for j, (q, s) in enumerate(zip(sets, starts[:-1], strict=True)):
        columns[:, j] = np.where(q.labels >= 0, q.labels + s, none)
    made = Conjugate(problem.shape, sets, tuple(singles.values()), columns)
    return made, [*numbers, *singles]
