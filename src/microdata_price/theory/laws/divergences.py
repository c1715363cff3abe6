"""Conversions from zCDP to approximate DP: the exact one for Gaussian noise, the best for all."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from ...model.privacy import check_delta, check_epsilon, check_rho

Array = NDArray[np.float64]
_NONE = 1e-30  # an epsilon that changes nothing, where 0 is not allowed
_REACH = 12.0  # how far from its guess the logarithm of the order is searched


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

    return float(optimize.brentq(miss, 0.0, high, xtol=1e-14 * high, rtol=1e-14))


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
    found = optimize.minimize_scalar(
        bound, bounds=(start - _REACH, start + _REACH), method="bounded"
    )
    return max(0.0, min(float(found.fun), r + 2 * math.sqrt(r * -math.log(d))))
