"""Fitting cells to a noisy sum with asymmetric noise: cheaper than any split of the budget.

A record moves its cell's noisy count and the noisy sum. The log density changes by ``+right`` or
``-left`` for each, by the side of the truth on which it lies, so that ``right + right* <= eps`` and
``left + left* <= eps`` suffice. Only the upper tail of the cells' noise costs ``ln d``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...exceptions import InputError
from ...model.privacy import check_epsilon
from ..given import check_points
from ..lower.search import maximise
from .one_sided import laplace_sides
from .upper_bounds import Guaranteed

Array = NDArray[np.float64]

_LAST, _NEARLY = 1 - 1e-12, 1 - 1e-9  # of epsilon, and of the range searched, at most
_EDGE, _COARSE, _ROUNDS = 1e-6, 33, 12  # of the search


class Rates(NamedTuple):
    """Rates of the sum's noise; the cells' are what they leave of epsilon. Any shape."""

    right: Array
    left: Array


def certified_asymmetric(
    epsilon: float, d: ArrayLike, right: ArrayLike, left: ArrayLike
) -> Guaranteed:
    """Bound the errors of fitting to a noisy sum with asymmetric Laplace noise, for all tables.

    ``right`` and ``left`` are the rates of the sum's noise; the cells have epsilon minus them.
    """
    eps = check_epsilon(epsilon)
    rates = np.broadcast_arrays(
        check_points(d), np.asarray(right, dtype=float), np.asarray(left, dtype=float)
    )
    n, up, down = rates
    if not ((up > 0) & (up < eps) & (down > 0) & (down < eps)).all():
        raise InputError("a rate of the sum's noise must lie between 0 and epsilon (both excluded)")
    total = 1 / up**2 + 1 / down**2
    return Guaranteed(laplace_sides(n, (eps - up, eps - down), (up, down)).C(), np.sqrt(total))


def best_rates(epsilon: float, d: ArrayLike, D: ArrayLike) -> Rates:
    """Return the rates of the sum's noise with root error D that certify the least C."""
    eps = check_epsilon(epsilon)
    n, target = np.broadcast_arrays(check_points(d), np.asarray(D, dtype=float))
    if not (target * eps > math.sqrt(2)).all():
        raise InputError(
            f"the sum error is {float(target.min()):g}; asymmetric noise needs more than sqrt(2)/"
            "epsilon"
        )
    # Below this the left rate would be epsilon or more.
    low = 1 / np.sqrt(target**2 - 1 / eps**2)
    high = np.minimum(math.sqrt(2) / target, low + (eps - low) * _NEARLY)

    def left(right: Array) -> Array:
        return np.asarray(1 / np.sqrt(target[..., None] ** 2 - 1 / right**2))

    def score(share: Array) -> Array:
        right = low[..., None] + (high - low)[..., None] * share
        found = certified_asymmetric(eps, n[..., None], right, np.minimum(left(right), eps * _LAST))
        return -found.C

    share, _ = maximise(score, np.full(n.shape, _EDGE), np.ones(n.shape), _COARSE, _ROUNDS)
    right = low + (high - low) * share
    return Rates(right, left(right[..., None])[..., 0])
