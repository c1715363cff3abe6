"""From pure and concentrated guarantees, of one mechanism or several, to (epsilon, delta)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar

from ..exceptions import InputError
from .privacy import LEAST_LEVEL, ApproximateDP, check_delta, check_epsilon
from .table import check_numbers

Array = NDArray[np.float64]

# Logarithms of the orders less one among which the best is looked for first.
_LOG_ORDERS = np.linspace(-14.0, 40.0, 541)
_ROUNDING = 1e-12  # added, so that rounding never promises too much


def pure_renyi(epsilon: float, order: ArrayLike) -> Array:
    """Return the largest Renyi divergence of an order that pure DP allows.

    Densities of two outputs have ratios between ``exp(-epsilon)`` and ``exp(epsilon)``, and the
    divergence is a convex function of the ratio, so that randomised response, whose ratios are only
    these two, has the largest: ``log((exp(a epsilon) + exp((1 - a) epsilon)) / (1 + exp(epsilon)))
    / (a - 1)`` at order a. It is at most ``epsilon`` and at most ``a epsilon**2 / 2``.
    """
    epsilon = check_epsilon(epsilon)
    a = check_numbers(order, "the order", lambda x: (x > 1) & (x < math.inf), "a number above 1")
    largest = np.minimum(epsilon, a * epsilon**2 / 2)
    log_sum = np.logaddexp(a * epsilon, (1 - a) * epsilon) - np.logaddexp(0.0, epsilon)
    return np.asarray(np.minimum(largest, np.maximum(log_sum, 0.0) / (a - 1)))


def approximate_together(epsilons: Sequence[float], rho: float, delta: float) -> ApproximateDP:
    """Return an (epsilon, delta) guarantee of pure and concentrated mechanisms together.

    Each mechanism counts at its best: Renyi divergences of every order add up, under adaptive
    choices, too; at order a they are at most `pure_renyi` for a pure one and ``a rho`` for zCDP.
    The total is turned into ``epsilon = total + log(1 - 1/a) - log(a delta) / (a - 1)`` and the
    least over a is taken (for zCDP alone the conversion of Canonne, Kamath and Steinke, 2020,
    Corollary 13, which OpenDP computes, too). Any order gives a guarantee, so no search can claim
    too little. It is never above adding the pure epsilons to the conversion of rho, nor above
    turning all into zCDP first.

    Examples
    --------
    >>> round(approximate_together([], 0.005, 1e-6).epsilon, 4)
    0.4299
    >>> round(approximate_together([5.0], 0.005, 1e-6).epsilon, 4)
    5.4298
    """
    delta, epsilons = check_delta(delta), [check_epsilon(e) for e in epsilons]
    if not 0 <= rho < math.inf:
        raise InputError(f"rho is {rho!r}; it must be 0 or more")

    def converted(log_order: ArrayLike) -> Array:
        t = np.asarray(log_order, dtype=float)
        above = np.exp(t)
        order = 1 + above
        total = rho * order + sum((pure_renyi(e, order) for e in epsilons), np.zeros(t.shape))
        last = (math.log(delta) + np.log1p(above)) / above
        return np.asarray(total + t - np.log1p(above) - last)

    found = converted(_LOG_ORDERS)
    best = int(np.argmin(found))
    around = _LOG_ORDERS[best] + np.array([-1, 1]) * (_LOG_ORDERS[1] - _LOG_ORDERS[0])
    near = minimize_scalar(
        lambda t: float(converted(t)), bounds=around, method="bounded", options={"xatol": 1e-10}
    )
    least, pure = min(float(found[best]), float(near.fun)), math.fsum(epsilons)
    # Above what the last digits of the sums may have taken away.
    least += _ROUNDING * max(abs(least), pure, rho, 1.0)
    if rho == 0:
        least = min(least, pure * (1 + _ROUNDING))
    return ApproximateDP(max(least, LEAST_LEVEL), delta)
