"""Cells that no query tells apart: one cell in their place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..model.queryset import QuerySet
from .problem import AnyTerm, Problem, Solution, SubsetSum, Term

Array = NDArray[np.float64]
Labels = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Merged:
    """A problem on fewer cells, each the sum of cells that no query tells apart.

    Any split of a merged cell among its cells gives the same answers; the even one has least norm.
    """

    problem: Problem  # the smaller problem; its multipliers are those of the larger one
    # For each cell of the larger problem the cell of the smaller one, -1 for a cell that no
    # query counts (it is 0). Shape (cells,).
    groups: Labels
    counts: Array  # how many cells each stands for

    def gather(self, x: Array) -> Array:
        """Return the merged cells of a table of the larger problem, shape (runs, merged cells)."""
        return QuerySet.from_labels(self.groups, "merged").answers(x)

    def expand(self, solution: Solution) -> Solution:
        """Return the larger problem's solution, merged cells split evenly."""
        each = solution.x / self.counts
        x = np.where(self.groups >= 0, each[:, self.groups], 0.0)
        return Solution(x, solution.y, solution.contradictory)


def _moved(term: AnyTerm, queries: QuerySet) -> AnyTerm:
    if isinstance(term, SubsetSum):
        return SubsetSum(queries, term.members, term.target, term.weight)
    return Term(queries, term.target, term.weight, term.radius)


def _by_axes(shape: tuple[int, ...], sets: list[QuerySet]) -> tuple[Labels, list[QuerySet]] | None:
    """Merge along the axes that no marginal keeps, so that the table stays a table."""
    kept = sorted({a for q in sets for a in q.axes or ()})
    if len(kept) == len(shape):
        return None
    small = tuple(shape[a] for a in kept) or (1,)
    places = [[kept.index(a) for a in q.axes or ()] for q in sets]
    moved = [QuerySet.marginal(small, p, q.name) for p, q in zip(places, sets, strict=True)]
    return QuerySet.marginal(shape, kept).labels, moved


def _by_labels(cells: int, sets: list[QuerySet]) -> tuple[Labels, list[QuerySet]] | None:
    """Merge cells whose labels are the same in every set; none has as many queries as cells."""
    code = np.zeros(cells, dtype=np.int64)
    for q in sets:
        code = np.unique(code * cells + q.labels, return_inverse=True)[1]
    code[np.all([q.labels < 0 for q in sets], axis=0)] = -1
    codes, first, groups = np.unique(code, return_index=True, return_inverse=True)
    uncounted = int(codes[0] < 0)
    groups, first = groups - uncounted, first[uncounted:]
    if first.size == cells:
        return None
    # A set that tells all of them apart numbers them, so that it is recognised as the cells.
    for q in sets:
        if q.size == first.size and (q.labels[first] >= 0).all():
            groups, first = q.labels, first[np.argsort(q.labels[first])]
            break
    return groups, [QuerySet.from_labels(q.labels[first], q.name) for q in sets]


def merge(problem: Problem) -> Merged | None:
    """Return the problem on merged cells; ``None`` if the queries tell all cells apart."""
    sets = [t.base if isinstance(t, SubsetSum) else t.queries for t in problem.terms]
    shape, cells = problem.shape, problem.cells
    if any(q.size == cells for q in sets):
        return None
    marginals = all(q.axes is not None for q in sets)
    found = _by_axes(shape, sets) if marginals else _by_labels(cells, sets)
    if found is None:
        return None
    groups, moved = found
    counts = np.bincount(groups[groups >= 0]).astype(float)
    terms = tuple(_moved(t, q) for t, q in zip(problem.terms, moved, strict=True))
    return Merged(Problem(terms, problem.nonnegative), groups, counts)
