"""Least-norm table among all optimal ones, where the queries leave the table open."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..model.queryset import QuerySet
from .problem import AnyTerm, Problem, Solution, SubsetSum, Term, divisor

Array = NDArray[np.float64]


def _held(term: AnyTerm, x: Array) -> AnyTerm:
    """Hold the answers of the queries that are asked."""
    said = term.weight > 0
    if term.radius is not None:
        said |= np.isfinite(term.radius)
    weight, answers = np.where(said, np.inf, 0.0), term.answers(x)
    if isinstance(term, SubsetSum):
        return SubsetSum(term.base, term.members, answers, weight)
    return Term(term.queries, answers, weight)


def least_norm_problem(
    problem: Problem, solution: Solution, counts: Array | float = 1.0
) -> Problem:
    """Return the problem of least norm among the tables that answer as the solution does.

    The objective depends on the answers alone and is strictly convex in them, so all optimal
    tables have these answers, and the multipliers remain theirs.
    """
    finite = np.max(
        [np.where(np.isinf(t.weight), 0.0, t.weight).max(axis=1) for t in problem.terms], axis=0
    )
    unit = divisor(finite)[:, None]  # the certificate's scale is the problem's
    cells = QuerySet.identity(problem.shape, "least norm")
    shape = (problem.runs, problem.cells)
    weight = np.broadcast_to(unit / counts, shape)
    terms = (*(_held(t, solution.x) for t in problem.terms), Term(cells, np.zeros(shape), weight))
    return Problem(terms, problem.nonnegative)
