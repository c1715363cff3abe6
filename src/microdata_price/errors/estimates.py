"""Expected squared errors from simulated runs: estimates, standard errors, maxima."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.numbers import mean_and_error
from .sums import ErrorSums
from .sums import answer_errors as answer_errors
from .sums import sum_errors as sum_errors

Array = NDArray[np.float64]


def regression_estimate(
    runs: float,
    sums: tuple[Array, Array, Array],
    control: tuple[Array, Array],
    control_mean: Array,
) -> tuple[Array, Array]:
    """Sharpen a mean by a control variate whose mean is known exactly.

    The variable is regressed on the control over the runs; the estimate is the fitted line at the
    control's exact mean, and its standard error the usual one of a regression line at a point; NaN
    with fewer than three runs. ``sums`` are those of the variable, its square and its product with
    the control, ``control`` those of the control and its square.
    """
    first, second, product = sums
    if runs < 3:
        return np.full_like(first, np.nan), np.full_like(first, np.nan)
    mean, middle = first / runs, control[0] / runs
    syy = second - first * mean
    scc = control[1] - control[0] * middle
    syc = product - first * middle
    # A control that never moves carries no information; the plain mean remains.
    moves = scc > 0
    slope = np.where(moves, syc / np.where(moves, scc, 1.0), 0.0)
    away = np.where(moves, middle - control_mean, 0.0)
    rest = np.maximum(syy - slope * syc, 0.0) / (runs - 2)
    error = np.sqrt(rest * (1 / runs + away * away / np.where(moves, scc, 1.0)))
    return mean - slope * away, error


def root_ratio(value: Array, error: Array, ols: Array) -> tuple[Array, Array]:
    """Return the ratio of root errors, the second exact, and its standard error (first order).

    >>> root_ratio(np.array([8.0]), np.array([0.4]), np.array([2.0]))
    (array([2.]), array([0.05]))
    """
    ratio = np.sqrt(value / ols)
    return ratio, error / ols / (2 * np.where(ratio > 0, ratio, np.nan))


@dataclass(frozen=True, eq=False)
class Estimate:
    """A value with its standard error; scalars or arrays, in squared counts."""

    value: Array
    error: Array


@dataclass(frozen=True, eq=False)
class QueryErrors:
    """Estimates for every query of a workload, the query sets one after the other."""

    bias: Array  # mean error, in counts
    # Mean squared deviation from the mean error, so that ``bias^2 + variance`` is the plain
    # mean squared error.
    variance: Array
    plain: Estimate  # mean squared error
    # The same with OLS's exactly known error as control variate; NaN where that is not known.
    controlled: Estimate
    halves: Estimate  # plain estimates on either half of the runs; arrays of shape (2, queries)


def query_errors(sums: ErrorSums, control: ErrorSums, exact_control: Array) -> QueryErrors:
    """Estimate every query's expected squared error."""
    pool, control_pool = sums.pooled(), control.pooled()
    runs = float(pool.runs[0])
    e, e2, e4, product = pool.queries[0]
    mean, error = mean_and_error(runs, e2, e4)
    bias = e / runs
    if sums is control:
        sharp, sharp_error = exact_control, np.where(np.isnan(exact_control), np.nan, 0.0)
    else:
        own = control_pool.queries[0]
        sharp, sharp_error = regression_estimate(
            runs, (e2, e4, product), (own[1], own[2]), exact_control
        )
    half = mean_and_error(sums.runs[:, None], sums.queries[:, 1], sums.queries[:, 2])
    return QueryErrors(
        bias,
        np.maximum(mean - bias * bias, 0.0),
        Estimate(mean, error),
        Estimate(sharp, sharp_error),
        Estimate(*half),
    )


def total_errors(
    sums: ErrorSums, control: ErrorSums, exact_control: Array
) -> tuple[Estimate, Estimate]:
    """Estimate every query set's total squared error, plainly and with the control variate."""
    pool, control_pool = sums.pooled(), control.pooled()
    runs = float(pool.runs[0])
    first, second, product = pool.totals[0]
    plain = Estimate(*mean_and_error(runs, first, second))
    if sums is control:
        return plain, Estimate(exact_control, np.where(np.isnan(exact_control), np.nan, 0.0))
    own = control_pool.totals[0]
    return plain, Estimate(
        *regression_estimate(runs, (first, second, product), (own[0], own[1]), exact_control)
    )


def largest(estimate: Estimate) -> Estimate:
    """Return the largest of several estimates, with its own standard error.

    The largest of noisy values lies above the largest true value on average.

    Examples
    --------
    >>> float(largest(Estimate(np.array([1.0, 3.0]), np.array([0.1, 0.2]))).error)
    0.2
    """
    place = 0 if np.isnan(estimate.value).all() else int(np.nanargmax(estimate.value))
    return Estimate(estimate.value[place], estimate.error[place])


def largest_split(halves: Estimate) -> Estimate:
    """Estimate the largest expected error: choose the query on one half, estimate on the other.

    Done both ways and averaged. Given the choice the estimate has no bias, so on average it
    lies at or below the largest true value. The standard error takes the halves as independent.
    """
    if np.isnan(halves.value).any():
        return Estimate(np.array(np.nan), np.array(np.nan))
    chosen = halves.value.argmax(axis=1)
    values = halves.value[[1, 0], chosen]
    errors = halves.error[[1, 0], chosen]
    return Estimate(values.mean(), np.asarray(np.hypot(*errors) / 2))
