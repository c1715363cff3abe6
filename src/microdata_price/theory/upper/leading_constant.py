"""Leading constant of the cells' error under pure DP, exactly, for d to infinity.

Outputs are nonnegative, ``eps D <= sqrt(lambda)``, and C is the least root error of the cells. For
every epsilon and every lambda above ``lambda_0 = eps^2/(2 sinh^2(eps/2))`` the limit of ``eps C/ln
d`` is ``max(1, c)``, ``Lambda(c) = lambda``; no mechanism has ``eps^2 D^2 < lambda_0``. It says
nothing of numbers of cells that occur.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from ...exceptions import InputError
from ...model.privacy import check_epsilon
from ...model.table import check_numbers

Array = NDArray[np.float64]

_MOST = 1e6  # no constant above it is computed
_NEAR_1 = 2.0  # from where on w is so near to 1 that differences cancel
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_LEAST_WHOLE = 1e-3  # below it whole-number outputs change no digit that is shown


def least_variance(right: ArrayLike, left: ArrayLike) -> Array:
    """Least variance of a noise whose tails fall by at most ``e^right`` and ``e^left`` a record.

    ``V(r) + V(l)``, ``V(r) = 1/(4 sinh^2(r/2))``; whole-number noise with these tails attains it.

    Examples
    --------
    >>> float(least_variance(1.0, 1.0).round(4))  # the double geometric noise of epsilon 1
    1.8413
    """
    rates = [check_numbers(t, "the rate", lambda x: x > 0, "positive") for t in (right, left)]
    return np.asarray(sum(np.exp(-t) / np.expm1(-t) ** 2 for t in rates))


def sum_wall(epsilon: ArrayLike) -> Array:
    """Least ``(eps D)^2`` of any mechanism, ``lambda_0 = eps^2/(2 sinh^2(eps/2))``.

    Examples
    --------
    >>> sum_wall([0.1, 0.5, 1.0]).round(4)
    array([1.9983, 1.9588, 1.8413])
    """
    eps = np.asarray(np.vectorize(check_epsilon, otypes=[float])(epsilon))
    return np.asarray(eps**2 * least_variance(eps, eps))


def needed_lambda(c: ArrayLike, epsilon: float, *, whole: bool = False) -> Array:
    """Least ``lambda = (eps D)^2`` at which ``eps C/ln d`` can tend to c > 1/2: Lambda(c).

    Examples
    --------
    >>> needed_lambda(1.0, 0.5).round(4), needed_lambda(1.0, 0.5, whole=True).round(4)
    (np.float64(3.4135), np.float64(3.4357))
    """
    eps = check_epsilon(epsilon)
    at = check_numbers(c, "the constant", lambda x: x > 0.5, "a number above 1/2")
    w, turn = 1 - 1 / (2 * at), eps / (4 * at)
    # ln(sinh(w eps/2)/sinh(eps/2)), accurate also where w is near 1
    change = -turn + np.log(-np.expm1(-w * eps)) - math.log(-math.expm1(-eps))
    near = at > _NEAR_1
    if near.any():
        small = 2 * np.sinh(turn / 2) ** 2 - np.sinh(turn) / math.tanh(eps / 2)
        change = np.where(near, np.log1p(np.where(near, small, 0.0)), change)
    found = sum_wall(eps) / 2 + 2 * at * eps / np.tanh(w * eps / 2) + 8 * at**2 * change
    if whole:
        found = found + np.vectorize(lambda x: _rounding(float(x), eps), otypes=[float])(at)
    return np.asarray(found)


def _rounding(c: float, eps: float) -> float:
    """Add what whole outputs cost: ``eps^2 E dist(m_0(s), Z)^2`` over the Pareto law of s."""
    if eps < _LEAST_WHOLE:
        raise InputError(f"epsilon is {eps:g}; for whole-number outputs it must be 0.001 or more")
    left = 1 / math.expm1(eps)
    last = 1 / math.expm1((1 - 1 / (2 * c)) * eps) - left
    # Between the kinks, where the mean is half a whole number, the integrand is smooth in v = c/s.
    halves = np.arange(0, math.ceil(last) + 1) + 0.5
    kinks = 2 * c * (1 - np.log1p(1 / (halves[halves < last] + left)) / eps)
    ends = np.concatenate(([0.0], kinks, [1.0]))
    half = np.diff(ends)[:, None] / 2
    v = ends[:-1, None] + half * (_NODES + 1)
    mean = 1 / np.expm1((1 - v / (2 * c)) * eps) - left
    return float(eps**2 * (2 * v * (mean - np.rint(mean)) ** 2 * _WEIGHTS * half).sum())


def leading_constant(lam: float, epsilon: float, *, whole: bool = False) -> float:
    """Limit of ``eps C/ln d`` for d to infinity at a fixed ``lambda = (eps D)^2``, pure DP.

    ``whole`` asks for outputs in whole numbers.

    Examples
    --------
    >>> leading_constant(8.0, 0.5), round(leading_constant(2.25, 0.5), 3)
    (1.0, 2.846)
    """
    wall = float(sum_wall(check_epsilon(epsilon)))
    if not wall < lam < math.inf:
        raise InputError(
            f"lambda is {lam!r}; at epsilon {epsilon:g} no mechanism has (epsilon D)^2 of "
            f"{wall:.6g} or less"
        )

    def missing(c: float) -> float:
        return float(needed_lambda(c, epsilon, whole=whole)) - lam

    if missing(1.0) <= 0:
        return 1.0
    if missing(_MOST) > 0:
        raise InputError(
            f"lambda is {lam!r}; so near to {wall:.6g} the constant is above a million"
        )
    return float(brentq(missing, 1.0, _MOST, xtol=1e-12, rtol=1e-13))


def cell_share(lam: ArrayLike) -> Array:
    """Cells' share ``1 - 1/sqrt(lambda - 1)`` of the upper tail under asymmetric noise, lambda > 2.

    Its inverse is the leading constant that asymmetric noise alone has.
    """
    value = check_numbers(lam, "lambda", lambda x: (x > 2) & (x < math.inf), "a number above 2")
    return np.asarray(1 - 1 / np.sqrt(value - 1))
