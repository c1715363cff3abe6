r"""Any disjoint query sets (marginals of tables of any dimension): their Newton systems.

The queries of one set share no cell, so each set is a diagonal block of the Newton matrix, and two
sets i and j are coupled by :math:`U_i \mathrm{diag}(p) U_j'`, sums of p over the cells that two
queries share. The set with most queries is eliminated as the columns of a two-way table are (see
`two_way`), and what is left is a dense matrix. Where that would be too large see `conjugate`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..model.queryset import QuerySet
from .boxed import largest_of
from .eliminate import regular, solve_bordered
from .problem import Problem
from .single_sums import SingleSums, by_size, sets_and_sums
from .tuning import TUNING

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Crossing:
    """Overlap of the queries of two sets: sums over the cells that a pair of queries shares."""

    sums: sp.csr_array  # one row a pair that shares a cell, shape (pairs, cells), zeros and ones
    first: NDArray[np.intp]  # the pair's queries
    second: NDArray[np.intp]
    shape: tuple[int, int]  # the numbers of queries of the two sets

    @classmethod
    def of(cls, a: QuerySet, b: QuerySet) -> Crossing:
        """Find the pairs."""
        cells = np.flatnonzero((a.labels >= 0) & (b.labels >= 0))
        code = a.labels[cells] * b.size + b.labels[cells]
        pairs, which = np.unique(code, return_inverse=True)
        shape = (pairs.size, a.cells)
        sums = sp.csr_array((np.ones(cells.size), (which, cells)), shape=shape)
        return cls(sums, pairs // b.size, pairs % b.size, (a.size, b.size))

    def block(self, free: Array) -> Array:
        """Return ``U_a diag(free) U_b'``, shape (runs, queries of a, queries of b)."""
        block = np.zeros((free.shape[0], *self.shape))
        block[:, self.first, self.second] = (self.sums @ free.T).T
        return block


@dataclass(frozen=True, eq=False)
class Partitions(SingleSums):
    """Several sets of disjoint queries and single sums; the set with most queries comes last."""

    sets: tuple[QuerySet, ...]  # the query sets; the last is eliminated
    crossings: dict[tuple[int, int], Crossing]  # one for each pair of sets ``(i, j)`` with i < j
    members: tuple[Array, ...]

    @property
    def _starts(self) -> list[int]:
        """First unknown of each set: sets but the last, then single sums, then the last."""
        sizes = [q.size for q in self.sets[:-1]]
        starts = [0, *np.cumsum(sizes).tolist()]
        starts[-1] += len(self.members)
        return starts

    def rmatvec(self, y: Array) -> Array:
        """Return U'y, shape (runs, cells)."""
        starts = self._starts
        forces = np.zeros((y.shape[0], self.sets[0].cells))
        for q, start in zip(self.sets, starts, strict=True):
            forces += q.spread(y[:, start : start + q.size])
        self.add_sums_forces(forces, y, starts[-1] - len(self.members))
        return forces

    def matvec(self, x: Array) -> Array:
        """Return Ux, shape (runs, aggregates)."""
        # A batch of one run of a table with one row has the shape of a table: say which it is.
        tables = x.reshape(len(x), *self.sets[-1].shape)
        parts = [q.answers(tables) for q in self.sets[:-1]]
        parts += self.sums_of(x)
        return np.concatenate([*parts, self.sets[-1].answers(tables)], axis=1)

    def largest(self, x: Array) -> Array:
        """Return the largest entry of x among each aggregate's cells, shape (runs, aggregates)."""
        parts = [largest_of(q, x) for q in self.sets]
        parts[-1:-1] = self.largest_in_sums(x)
        return np.concatenate(parts, axis=1)

    def solve(self, free: Array, inverse_weight: Array, residual: Array, ridge: Array) -> Array:
        """Solve the Newton system; see `Structure`."""
        runs = free.shape[0]
        starts, last = self._starts, len(self.sets) - 1
        k = starts[-1]
        kept = np.zeros((runs, k, k))
        coupling = np.zeros((runs, k, self.sets[-1].size))
        own = self.matvec(free)  # the free cells of each query
        for (i, j), crossing in self.crossings.items():
            rows = slice(starts[i], starts[i] + self.sets[i].size)
            block = crossing.block(free)
            if j == last:
                coupling[:, rows] = block
            else:
                others = slice(starts[j], starts[j] + self.sets[j].size)
                kept[:, rows, others] = block
                kept[:, others, rows] = block.transpose(0, 2, 1)
        for i, v in enumerate(self.members, k - len(self.members)):
            with_all = self.matvec(v * free)
            kept[:, i, :] = kept[:, :, i] = with_all[:, :k]
            coupling[:, i] = with_all[:, k:]
        diagonal = np.einsum("bkk->bk", kept)  # a view that can be written to
        diagonal[...] = regular(own[:, :k], inverse_weight[:, :k], ridge)
        side = regular(own[:, k:], inverse_weight[:, k:], ridge)
        if k == 0:
            return residual / side
        u, v = solve_bordered(kept, coupling, side, residual[:, :k], residual[:, k:])
        return np.concatenate([u, v], axis=1)


def partitions(problem: Problem, aggregates: list[int]) -> tuple[Partitions, list[int]] | None:
    """Recognise query sets and sums of some of their queries."""
    sets, singles = sets_and_sums(problem, aggregates)
    if not sets:
        return None
    *numbers, last = by_size(sets)
    queries = tuple(sets[k] for k in (*numbers, last))
    kept = sum(q.size for q in queries[:-1]) + len(singles)
    if kept > TUNING.dense_unknowns or kept * queries[-1].size > TUNING.dense_entries:
        return None
    crossings = {
        (i, j): Crossing.of(queries[i], queries[j]) for j in range(len(queries)) for i in range(j)
    }
    return Partitions(queries, crossings, tuple(singles.values())), [*numbers, *singles, last]
