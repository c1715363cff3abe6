"""Distances between output distributions: what epsilon, rho and delta measure.

Distributions over finitely many outcomes are arrays of probabilities, in one order of the outcomes.
All divergences are in nats.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from ...exceptions import InputError
from ...model.privacy import check_delta, check_epsilon, check_rho

Array = NDArray[np.float64]
_NONE = 1e-30  # an epsilon that changes nothing, where 0 is not allowed


def _pair(p: ArrayLike, q: ArrayLike) -> tuple[Array, Array]:
    first, second = np.asarray(p, dtype=float).ravel(), np.asarray(q, dtype=float).ravel()
    if first.shape != second.shape or first.size == 0:
        raise InputError(
            f"the two distributions have {first.size} and {second.size} outcomes; they must have "
            "the same outcomes, at least one"
        )
    for name, values in (("first", first), ("second", second)):
        if not np.isfinite(values).all() or (values < 0).any() or abs(values.sum() - 1) > 1e-9:
            raise InputError(
                f"the {name} distribution adds up to {values.sum():.12g}; it must be probabilities "
                "of 0 or more that add up to 1"
            )
    return first, second


def _order(order: float) -> float:
    if not (isinstance(order, (int, float)) and math.isfinite(order) and order > 1):
        raise InputError(f"the order is {order!r}; it must be a number above 1, for example 2")
    return float(order)


def log_ratios(p: ArrayLike, q: ArrayLike) -> Array:
    """Return the privacy loss ``ln(p/q)`` of every outcome, NaN where both are impossible."""
    first, second = _pair(p, q)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((first == 0) & (second == 0), np.nan, np.log(first) - np.log(second))


def max_divergence(p: ArrayLike, q: ArrayLike) -> float:
    """Return the largest absolute privacy loss: the least epsilon for this pair (Definition 2).

    It is taken in both directions; infinite where an outcome is possible under one only.
    """
    return float(np.nanmax(np.abs(log_ratios(p, q))))


def renyi_divergence(p: ArrayLike, q: ArrayLike, order: float) -> float:
    """Return the Renyi divergence ``D_order(p || q)`` in nats (the paper's Definition 3)."""
    a = _order(order)
    first, second = _pair(p, q)
    if (second[first > 0] == 0).any():
        return math.inf
    seen = first > 0
    exponents = a * np.log(first[seen]) - (a - 1) * np.log(second[seen])
    return float(special.logsumexp(exponents)) / (a - 1)


def least_delta(p: ArrayLike, q: ArrayLike, epsilon: float) -> float:
    """Return the least delta at which the pair is (epsilon, delta)-close, in both directions.

    In one direction it is ``sum of max(0, p - exp(epsilon) q)``, attained by the event that holds
    every outcome with privacy loss above epsilon (Definition 2).
    """
    factor = math.exp(min(check_epsilon(epsilon), 700.0))
    first, second = _pair(p, q)
    return max(
        float(np.maximum(first - factor * second, 0).sum()),
        float(np.maximum(second - factor * first, 0).sum()),
    )


def laplace_renyi(epsilon: float, order: float) -> float:
    """Return the Renyi divergence between Laplace(1/epsilon) noise at two counts one apart.

    It is ``ln(a/(2a - 1) exp((a - 1) epsilon) + (a - 1)/(2a - 1) exp(-a epsilon)) / (a - 1)`` with
    a the order (integrate three pieces).
    """
    a, e = _order(order), check_epsilon(epsilon)
    terms = [
        math.log(a / (2 * a - 1)) + (a - 1) * e,
        math.log((a - 1) / (2 * a - 1)) - a * e,
    ]
    return max(float(special.logsumexp(terms)), 0.0) / (a - 1)


def worst_pure_renyi(epsilon: float, order: float) -> float:
    """Return the largest Renyi divergence that epsilon-DP allows, randomised response's.

    It is ``ln(cosh((a - 1/2) epsilon) / cosh(epsilon/2)) / (a - 1)`` with a the order, and at most
    ``a epsilon^2/2``: why epsilon-DP implies (epsilon^2/2)-zCDP.
    """
    a, e = _order(order), check_epsilon(epsilon)
    return (_log_cosh((a - 0.5) * e) - _log_cosh(e / 2)) / (a - 1)


def _log_cosh(x: float) -> float:
    # ln cosh x = x + ln(1 + (exp(-2x) - 1)/2) overflows nowhere and keeps small x.
    return x + math.log1p(0.5 * math.expm1(-2 * x)) if x > 0.01 else x * x / 2 - x**4 / 12


def gaussian_delta(rho: float, epsilon: float) -> float:
    """Return the exact delta at epsilon of the Gaussian mechanism that satisfies rho-zCDP.

    With ``u = sqrt(2 rho)``, the shift over the standard deviation, it is ``Phi(u/2 - epsilon/u) -
    exp(epsilon) Phi(-u/2 - epsilon/u)``.
    """
    u, e = math.sqrt(2 * check_rho(rho)), check_epsilon(epsilon)
    first = float(special.log_ndtr(u / 2 - e / u))
    second = e + float(special.log_ndtr(-u / 2 - e / u))
    return math.exp(first) * -math.expm1(min(second - first, 0.0))


def gaussian_epsilon(rho: float, delta: float) -> float:
    """Return the exact least epsilon at delta of the Gaussian mechanism that satisfies rho-zCDP.

    Zero where delta alone suffices.
    """
    r, d = check_rho(rho), check_delta(delta)
    if gaussian_delta(r, _NONE) <= d:
        return 0.0
    high = r + 2 * math.sqrt(r * -math.log(d))

    # The logarithm is nearly a parabola, so that the root is found to full precision.
    def miss(e: float) -> float:
        found = gaussian_delta(r, max(e, _NONE))
        return math.log(max(found, 1e-320)) - math.log(d)

    return float(optimize.brentq(miss, 0.0, high, xtol=1e-14 * max(high, 1.0), rtol=1e-14))


def best_zcdp_epsilon(rho: float, delta: float) -> float:
    """Return the least epsilon known to follow from rho-zCDP at delta, for every mechanism.

    It is the least over orders a > 1 of ``a rho + ln((a - 1)/a) - ln(a delta)/(a - 1)``, at least
    0, which is never above ``rho + 2 sqrt(rho ln(1/delta))``. The conversion is the one that the
    paper cites for the discrete Gaussian.
    """
    r, d = check_rho(rho), check_delta(delta)

    def bound(log_excess: float) -> float:
        x = math.exp(log_excess)
        a = 1 + x
        return a * r + math.log(x / a) - (math.log(d) + math.log(a)) / x

    start = math.log(math.sqrt(-math.log(d) / r))
    found = optimize.minimize_scalar(bound, bounds=(start - 12, start + 12), method="bounded")
    return max(0.0, min(float(found.fun), r + 2 * math.sqrt(r * -math.log(d))))
