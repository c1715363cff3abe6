"""Expected squared errors from simulated runs: estimates, standard errors, maxima."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.numbers import mean_and_error
from .sums import ErrorSums

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimate:
    """A value with its standard error; scalars or arrays, in squared counts."""

    value: Array
    error: Array

    def at(self, where: Any) -> Estimate:
        """Return a part of the arrays."""
        return Estimate(self.value[where], self.error[where])


def _regression_estimate(runs: float, sums: Array, control: Array, exact: Array) -> Estimate:
    """Sharpen a mean by a control variate whose mean is known exactly.

    The estimate is the regression line on the control at its exact mean, with the usual standard
    error; NaN with fewer than three runs. ``sums`` are those of the variable, its square and its
    product with the control, ``control`` those of the control and its square.
    """
    first, second, product = sums
    if runs < 3:
        return Estimate(np.full_like(first, np.nan), np.full_like(first, np.nan))
    mean, middle = first / runs, control[0] / runs
    syy = second - first * mean
    scc = control[1] - control[0] * middle
    syc = product - first * middle
    # A control that never moves carries no information; the plain mean remains.
    moves = scc > 0
    slope = np.where(moves, syc / np.where(moves, scc, 1.0), 0.0)
    away = np.where(moves, middle - exact, 0.0)
    rest = np.maximum(syy - slope * syc, 0.0) / (runs - 2)
    error = np.sqrt(rest * (1 / runs + away * away / np.where(moves, scc, 1.0)))
    return Estimate(mean - slope * away, error)


def _both(runs: float, sums: Array, control: Array | None, exact: Array) -> tuple[Estimate, ...]:
    """Return the plain estimate, and the one with a control variate; without one it is exact."""
    plain = Estimate(*mean_and_error(runs, sums[0], sums[1]))
    if control is None:
        return plain, Estimate(exact, np.where(np.isnan(exact), np.nan, 0.0))
    return plain, _regression_estimate(runs, sums, control, exact)


def root_ratio(value: Array, error: Array, ols: Array) -> tuple[Array, Array]:
    """Return the ratio of root errors, the second exact, and its standard error (first order).

    >>> root_ratio(np.array([8.0]), np.array([0.4]), np.array([2.0]))
    (array([2.]), array([0.05]))
    """
    ratio = np.sqrt(value / ols)
    return ratio, error / ols / (2 * np.where(ratio > 0, ratio, np.nan))


@dataclass(frozen=True, eq=False)
class QueryErrors:
    """Estimates for every query of a workload, the query sets one after the other."""

    bias: Array  # mean error, in counts
    variance: Array  # about the mean error: ``bias^2 + variance`` is the plain mean squared error
    plain: Estimate  # mean squared error
    controlled: Estimate  # the same with OLS's error as control variate; NaN where it is not known
    halves: Estimate  # plain estimates on either half of the runs; arrays of shape (2, queries)


def query_errors(sums: ErrorSums, control: ErrorSums, exact_control: Array) -> QueryErrors:
    """Estimate every query's expected squared error."""
    pool = sums.pooled()
    runs, e = float(pool.runs[0]), pool.queries[0]
    own = None if sums is control else control.pooled().queries[0, 1:]
    plain, sharp = _both(runs, e[1:], own, exact_control)
    bias = e[0] / runs
    variance = np.maximum(plain.value - bias * bias, 0.0)
    half = mean_and_error(sums.runs[:, None], sums.queries[:, 1], sums.queries[:, 2])
    return QueryErrors(bias, variance, plain, sharp, Estimate(*half))


def total_errors(sums: ErrorSums, control: ErrorSums, exact_control: Array) -> tuple[Estimate, ...]:
    """Estimate every query set's total squared error, plainly and with the control variate."""
    pool = sums.pooled()
    own = None if sums is control else control.pooled().totals[0]
    return _both(float(pool.runs[0]), pool.totals[0], own, exact_control)


def largest(estimate: Estimate) -> Estimate:
    """Return the largest of several estimates, with its own standard error.

    The largest of noisy values lies above the largest true value on average.

    Examples
    --------
    >>> float(largest(Estimate(np.array([1.0, 3.0]), np.array([0.1, 0.2]))).error)
    0.2
    """
    return estimate.at(0 if np.isnan(estimate.value).all() else int(np.nanargmax(estimate.value)))


def largest_split(halves: Estimate) -> Estimate:
    """Estimate the largest expected error: choose the query on one half, estimate on the other.

    Done both ways and averaged; on average at most the largest true value, as halves are apart.
    """
    if np.isnan(halves.value).any():
        return Estimate(np.array(np.nan), np.array(np.nan))
    other = halves.at(([1, 0], halves.value.argmax(axis=1)))
    return Estimate(other.value.mean(), np.asarray(np.hypot(*other.error) / 2))
