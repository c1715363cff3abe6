"""Nested totals such as state, county, tract, block: their Newton systems in linear time.

The Newton matrix of a tree of queries needs no fill if its leaves are eliminated first, so one pass
from the leaves to the root and one back solve it (`Tree._solve_nested` has the recurrence). Sums of
some queries do not nest; they are a small border, eliminated last.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .eliminate import regular, solve_small
from .problem import Problem, divisor
from .single_sums import SingleSums, by_size, sets_and_sums

Array = NDArray[np.float64]


def _each(sums: sp.csr_array, x: Array) -> Array:
    return np.ascontiguousarray((sums @ x.T).T)


@dataclass(frozen=True, eq=False)
class Tree(SingleSums):
    """Query sets each of which refines the one before, and single sums."""

    # For the queries of each level, coarsest first, and at last for the cells, the number of
    # the query of the level before that holds it; the first is all zeros (a root without a
    # query).
    parents: tuple[NDArray[np.intp], ...]
    sums: tuple[sp.csr_array, ...]  # the same as sums over parts, for each level but that root
    members: tuple[Array, ...]

    def _levels(self, y: Array) -> list[Array]:
        sizes = [p.size for p in self.parents[:-1]]
        return np.split(y[:, : sum(sizes)], np.cumsum(sizes)[:-1], axis=1)

    def rmatvec(self, y: Array) -> Array:
        """Return U'y, shape (runs, cells)."""
        total = np.zeros((y.shape[0], 1))
        for part, parent in zip(self._levels(y), self.parents, strict=False):
            total = total[:, parent] + part
        forces = total[:, self.parents[-1]]
        self.add_sums_forces(forces, y, y.shape[1] - len(self.members))
        return forces

    def _sum_up(self, x: Array) -> Array:
        parts = []
        for sums in self.sums[::-1]:
            x = _each(sums, x)
            parts.append(x)
        return np.concatenate(parts[::-1], axis=1)

    def matvec(self, x: Array) -> Array:
        """Return Ux, shape (runs, aggregates)."""
        return np.concatenate([self._sum_up(x), *self.sums_of(x)], axis=1)

    def largest(self, x: Array) -> Array:
        """Return the largest entry of x among each aggregate's cells, shape (runs, aggregates)."""
        singles = self.largest_in_sums(x)
        parts = []
        for sums in self.sums[::-1]:
            x = np.maximum.reduceat(x[:, sums.indices], sums.indptr[:-1], axis=1)
            parts.append(x)
        return np.concatenate([*parts[::-1], *singles], axis=1)

    def _solve_nested(self, free: Array, inverse_weight: list[Array], right: list[Array]) -> Array:
        """Solve for the nested queries alone, from the leaves to the root and back.

        With z the sum of a query's own and its ancestors' steps, a query whose cells answer to z
        with p and whose inverse weight is s makes the step ``(right - p z_parent) / (p + s)``, so
        its cells answer to z_parent with ``p s / (p + s)`` beside the constant
        ``p right / (p + s)``.
        Nothing cancels, whatever the weights. ``free`` holds p of the finest level.
        """
        p, sent = free, np.zeros_like(free)
        done: list[tuple[Array, Array, Array]] = []
        for level in range(len(inverse_weight) - 1, -1, -1):
            s = inverse_weight[level]
            rest = right[level] - sent
            # Neither cells to move nor an inverse weight: an equality whose parts are equalities
            # already, or one without a free cell. A step as if one cell were free can free one.
            whole = divisor(p + s)
            done.append((p, rest, whole))
            if level > 0:
                up = self.sums[level - 1]
                sent = _each(up, sent + p * rest / whole)
                p = _each(up, p * s / whole)
        steps: list[Array] = []
        z = np.zeros((free.shape[0], 1))
        for (p, rest, whole), parent in zip(done[::-1], self.parents, strict=False):
            above = z[:, parent]
            steps.append((rest - p * above) / whole)
            z = above + steps[-1]
        return np.concatenate(steps, axis=1)

    def solve(self, free: Array, inverse_weight: Array, residual: Array, ridge: Array) -> Array:
        """Solve the Newton system; see `Structure`."""
        leaves = _each(self.sums[-1], free)
        n = sum(p.size for p in self.parents[:-1])
        levels = self._levels(inverse_weight[:, :n])
        step = self._solve_nested(leaves, levels, self._levels(residual[:, :n]))
        if not self.members:
            return step
        couplings = [self._sum_up(v * free) for v in self.members]
        solved = [self._solve_nested(leaves, levels, self._levels(c)) for c in couplings]
        many = len(self.members)
        small = np.zeros((free.shape[0], many, many))
        right = residual[:, n:].copy()
        for i, v in enumerate(self.members):
            right[:, i] -= np.einsum("bk,bk->b", couplings[i], step)
            for j, w in enumerate(self.members):
                both = (v * w * free).sum(axis=1)
                if i == j:
                    both = regular(both[:, None], inverse_weight[:, n + i, None], ridge)[:, 0]
                small[:, i, j] = both - np.einsum("bk,bk->b", couplings[i], solved[j])
        singles = solve_small(small, right)
        for i in range(many):
            step = step - singles[:, i : i + 1] * solved[i]
        return np.concatenate([step, singles], axis=1)


def tree(problem: Problem, aggregates: list[int]) -> tuple[Tree, list[int]] | None:
    """Recognise query sets that refine one another."""
    sets, singles = sets_and_sums(problem, aggregates)
    nested = by_size(sets)
    if not nested:
        return None
    parents = []
    before, width = np.zeros(problem.cells, dtype=np.intp), 1
    matrices = []
    for q in nested.values():
        if (q.labels < 0).any():
            return None
        parent = np.zeros(q.size, dtype=np.intp)
        parent[q.labels] = before
        if (parent[q.labels] != before).any():
            return None
        parents.append(parent)
        shape = (width, q.size)
        matrices.append(sp.csr_array((np.ones(q.size), (parent, np.arange(q.size))), shape))
        before, width = q.labels, q.size
    parents.append(before)
    shape = (width, problem.cells)
    cells = np.arange(problem.cells)
    matrices.append(sp.csr_array((np.ones(problem.cells), (before, cells)), shape))
    made = Tree(tuple(parents), tuple(matrices[1:]), tuple(singles.values()))
    return made, [*nested, *singles]
