"""Numbers of cells from which on a lower bound says something, or beats signed answers.

The paper's Remark 1 holds for d "large enough". Here are the numbers, for each bound; and two
questions of the same kind: how small both errors can be at once, and what sparse outputs cost.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ...exceptions import InputError
from ...model.privacy import Guarantee, check_epsilon, check_guarantee
from ..given import LEAST_ERROR, check_points
from .lower_bounds import point_error_bound
from .search import largest_true

Array = NDArray[np.float64]

LARGEST = 1e300
"""The largest d that is tried."""
_PLACES = 24  # tried at once
_BEYOND = 4.0  # times that number of records, where both errors are alike
_TOLERANCE = 1e-4  # relative: a large d is not found more closely


def first_above(
    name: str,
    guarantee: Guarantee,
    sum_error: float,
    threshold: float = 0.0,
    largest: float = LARGEST,
) -> float:
    """Return the least d at which a bound on C exceeds a threshold, by bisection; or infinity.

    Examples
    --------
    >>> from microdata_price.model.privacy import PureDP
    >>> first_above("first_moment", PureDP(1.0), math.sqrt(8), math.sqrt(8))
    132.0
    """
    if not threshold >= 0:
        raise InputError(f"the threshold is {threshold!r}; it must be 0 or more, in counts")
    if not 2 <= largest < math.inf:
        raise InputError(f"the largest d is {largest!r}; it must be a finite number of 2 or more")

    def above(d: Array) -> NDArray[np.bool_]:
        return np.asarray(point_error_bound(name, guarantee, d, sum_error) > threshold)

    low, high = 2.0, math.floor(largest) * 1.0
    ends = above(np.array([low, high]))
    if ends[0]:
        return low
    if not ends[1]:
        return math.inf
    # At low it is not above, at high it is.
    while high - low > 1 and high > low * (1 + _TOLERANCE):
        inner = np.floor(np.exp(np.linspace(math.log(low), math.log(high), _PLACES)))
        places = np.unique([low, *np.clip(inner, low, high), (low + high) // 2, high])
        i = int(above(places).argmax())
        low, high = float(places[i - 1]), float(places[i])
    return high


def balanced_error(name: str, guarantee: Guarantee, d: ArrayLike) -> Array:
    """Return the largest x for which a bound excludes that both C and D are x or less, in counts.

    It is 0 where the bound says nothing, or nothing of errors of 1e-14 counts and more.

    Examples
    --------
    >>> from microdata_price.model.privacy import PureDP
    >>> balanced_error("first_moment", PureDP(1.0), [10**3, 10**9]).round(2)
    array([ 4.35, 16.89])
    """
    guarantee, points = check_guarantee(guarantee), check_points(np.asarray(d, dtype=float))
    # With D = C, no bound reaches beyond the number of records at which privacy hides nothing.
    reach = guarantee.records(_BEYOND * (np.log(points) + abs(math.log(guarantee.level)) + _BEYOND))

    def excluded(x: Array) -> NDArray[np.bool_]:
        return np.asarray(point_error_bound(name, guarantee, points, x) > x)

    # On a logarithmic scale, as a large epsilon excludes only tiny errors.
    low = np.full_like(reach, math.log(10 * LEAST_ERROR))
    found = np.exp(largest_true(lambda u: excluded(np.exp(u)), low, np.log(reach)))
    return np.where(found > np.exp(low), found, 0.0)


def sparse_point_error(epsilon: float, d: ArrayLike, nonzero: float) -> Array:
    """Return a lower bound on C for outputs with few cells other than 0, of either sign.

    ``C^2 >= m^2 (1 - e^(eps m) N/d)`` for every whole m, if on the all-zero table at most N cells
    are expected to come out other than 0.
    """
    eps, points = check_epsilon(epsilon), check_points(np.asarray(d, dtype=float))
    if not 0 < nonzero < math.inf:
        raise InputError(f"the number of cells other than 0 is {nonzero!r}; it must be positive")
    room = np.log(points) - math.log(nonzero)
    # The best real m = u/eps has e^u (1 + u/2) = d/N, so that Wright's omega gives 2 + u.
    u = special.wrightomega(room + 2 + math.log(2)) - 2
    m = np.floor(np.maximum(u, 0.0) / eps)[..., None] + [0.0, 1.0]
    kept = np.abs(np.expm1(np.minimum(eps * m - room[..., None], 0.0)))
    return np.asarray((m * np.sqrt(kept)).max(axis=-1) + 0.0)
