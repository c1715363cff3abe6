"""Theorem 3, item 3, part (b) at one gamma: how the sum must pay when cells are accurate (zCDP).

The paper chooses ``alpha = beta = sqrt(3/(1 - gamma))``, so that the chance to be near is bounded
by gamma. Here m is whole and everything is in nats, so that each bound is proven as it stands.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...exceptions import InputError
from ...model.privacy import check_rho
from ..given import check_error, check_queries

Array = NDArray[np.float64]
_EXPONENT = 700.0  # its exponential still is a double
_GAMMAS = np.linspace(0, 1, 401)[1:-1]


class GammaBound(NamedTuple):
    """The least D, in counts, and the constants that give it; D is 0 where nothing is said."""

    value: Array
    alpha: float
    m: int


def gamma_sum_error(rho: float, d: ArrayLike, C: float, gamma: float) -> GammaBound:
    """Return the lower bound on D that the paper's proof gives at one gamma.

    ``D >= (k (d-1)^gamma exp(-4 rho m^2)/2 - 2 alpha C - k)/alpha`` with ``k = m - alpha C``, for
    the smallest whole m of at least ``alpha C + 1/sqrt(rho)``.
    """
    r, error = check_rho(rho), float(check_error(C, "point error", one=True))
    if not 0 < gamma < 1:
        raise InputError(f"gamma is {gamma!r}; it must lie between 0 and 1 (both excluded)")
    alpha = math.sqrt(3 / (1 - gamma))
    m = math.ceil(alpha * error + 1 / math.sqrt(r))
    k = m - alpha * error
    with np.errstate(divide="ignore"):
        log_n = np.log(check_queries(d) - 1)
    grown = gamma * log_n - 4 * r * m**2 - math.log(2) + math.log(k)
    value = (np.exp(np.minimum(grown, _EXPONENT)) - 2 * alpha * error - k) / alpha
    return GammaBound(np.maximum(value, 0.0), alpha, m)


def best_gamma_sum_error(
    rho: float, d: ArrayLike, C: float, gammas: ArrayLike | None = None
) -> tuple[Array, Array]:
    """Return the largest of these bounds over gamma for each d, and the gamma that gives it."""
    places = _GAMMAS if gammas is None else np.asarray(gammas, dtype=float)
    if not places.size:
        raise InputError("gammas is empty; give at least one, or leave it out")
    values = np.stack([gamma_sum_error(rho, d, C, float(g)).value for g in places.ravel()])
    best = values.argmax(axis=0)
    return values.max(axis=0), places.ravel()[best]
