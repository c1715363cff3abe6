"""Sums of some queries beside whole query sets, alike for every structure but two-way tables."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..base.batch import Batch
from ..model.queryset import QuerySet
from .problem import Problem, SubsetSum

Array = NDArray[np.float64]


class SingleSums(Batch):
    """A structure's single sums."""

    by_run_or_shared = ("members",)

    # For each single sum which cells it counts, shape (runs or 1, cells).
    members: tuple[Array, ...]

    def add_sums_forces(self, forces: Array, y: Array, first: int) -> None:
        """Add U'y of the single sums, whose multipliers begin at a column of y."""
        for k, v in enumerate(self.members, first):
            forces += v * y[:, k : k + 1]

    def sums_of(self, x: Array) -> list[Array]:
        """Return each single sum of x, shape (runs, 1)."""
        return [(v * x).sum(axis=1, keepdims=True) for v in self.members]

    def largest_in_sums(self, x: Array) -> list[Array]:
        """Return the largest entry of x in each single sum, shape (runs, 1)."""
        return [np.where(v > 0, x, -np.inf).max(axis=1, keepdims=True) for v in self.members]


def sets_and_sums(
    problem: Problem, aggregates: list[int]
) -> tuple[dict[int, QuerySet], dict[int, Array]]:
    """Return the query sets, and the cells of the single sums, by their terms' numbers."""
    sets: dict[int, QuerySet] = {}
    sums: dict[int, Array] = {}
    for k in aggregates:
        term = problem.terms[k]
        if isinstance(term, SubsetSum):
            sums[k] = term.cell_members
        else:
            sets[k] = term.queries
    return sets, sums


def by_size(sets: dict[int, QuerySet]) -> dict[int, QuerySet]:
    """Return the sets with those of fewest queries first."""
    return dict(sorted(sets.items(), key=lambda item: item[1].size))
