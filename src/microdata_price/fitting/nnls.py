"""Nonnegative least squares: the paper's first baseline."""

from __future__ import annotations

from ..model.measurement import Measurements
from ..optimize import Problem, solve
from .fit import Fit, finish, weighted_terms


def fit_nnls(m: Measurements) -> Fit:
    """Fit by nonnegative least squares (the paper's NNLS postprocessing).

    The table is the one with nonnegative cells whose answers are nearest to the noisy ones, each
    squared difference divided by the variance of its noise. Where the workload leaves the table
    open, it is the one of least norm.
    """
    solution, certificate = solve(Problem(weighted_terms(m)))
    return finish("nnls", m, solution.x, certificate)
