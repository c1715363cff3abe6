"""One run of a problem as plain rows: the form in which a general solver takes it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .problem import Problem, Solution

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Stack:
    """All queries of one run, one a row, in units in which no number is much above 1."""

    matrix: sp.csr_array  # zeros and ones, shape (rows, cells)
    target: Array  # as for `Term`, shape (rows,); a radius is infinite where there is no bound
    weight: Array
    radius: Array
    nonnegative: bool  # whether every cell must be 0 or more
    count: float  # what a count and a weight were divided by
    unit: float
    sizes: tuple[int, ...]  # how many rows each term has

    @classmethod
    def of(cls, problem: Problem, run: int = 0) -> Stack:
        """Stack the terms of one run."""
        terms = problem.terms
        target = np.concatenate([t.target[run] for t in terms])
        weight = np.concatenate([t.weight[run] for t in terms])
        radius = np.concatenate(
            [np.full(t.size, np.inf) if t.radius is None else t.radius[run] for t in terms]
        )
        count = 1.0 + float(np.abs(target).max())
        finite = weight[np.isfinite(weight)]
        unit = float(finite.max()) if finite.size and finite.max() > 0 else 1.0
        return cls(
            sp.csr_array(sp.vstack([t.matrix(run) for t in terms])),
            target / count,
            weight / unit,
            radius / count,
            problem.nonnegative,
            count,
            unit,
            tuple(t.size for t in terms),
        )

    @property
    def equal(self) -> Mask:
        """Mask of the rows that are equalities."""
        return np.isinf(self.weight)

    @property
    def bounded(self) -> Mask:
        """Mask of the rows with a bounded residual that are no equalities."""
        return np.isfinite(self.radius) & ~self.equal

    @property
    def upper(self) -> Array:
        """The largest answer that each row allows."""
        return np.asarray(self.target + np.where(self.equal, 0.0, self.radius))

    def solution(self, x: Array, y: Array) -> Solution:
        """Return cells and multipliers in the problem's own units, as a batch of one run."""
        parts = np.split(y * (self.unit * self.count), np.cumsum(self.sizes)[:-1])
        return Solution(x[None, :] * self.count, tuple(p[None, :] for p in parts))


def pinned_cells(stack: Stack) -> tuple[Mask, Mask]:
    """Return which cells a row, a sum that must not exceed 0, pins to 0, and which rows pin them.

    They leave no interior, which an interior-point method may mistake for a contradiction.
    """
    none = np.zeros(stack.matrix.shape[1], dtype=bool), np.zeros(stack.target.size, dtype=bool)
    if not stack.nonnegative:
        return none
    rows = stack.upper <= 4 * np.finfo(float).eps
    return np.asarray(stack.matrix[rows].sum(axis=0) > 0).ravel(), rows


def hold_pinned(stack: Stack, pins: Mask, y: Array) -> Array:
    """Raise the multipliers, in place, of rows that pin cells until none of these wants to grow.

    Every cell of such a row is pinned, so raising its multiplier disturbs no other cell.
    """
    gradient = stack.matrix.T @ y
    for k in np.flatnonzero(pins):
        cells = stack.matrix.indices[stack.matrix.indptr[k] : stack.matrix.indptr[k + 1]]
        lack = max(0.0, -float(gradient[cells].min(initial=0.0)))
        y[k] += lack
        gradient[cells] += lack
    return y
