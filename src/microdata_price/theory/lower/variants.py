"""First moments on other terms: a public total, one family of tables, asymptotic forms.

The proof uses two facts only, so it holds where C and D bound mean absolute errors, or only biases:
``E sum <= D`` on the empty table, ``E x_i >= m - C`` on the others.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...exceptions import InputError
from ...model.privacy import ApproximateDP, check_epsilon, check_guarantee
from ..given import check_error, check_queries
from .moment_bounds import best_records

Array = NDArray[np.float64]

_SHARES, _RATIOS = np.linspace(0.02, 0.98, 49), np.geomspace(0.2, 5, 33)  # of m, tried
_BEYOND = 3.0  # how much dearer than the best ones the last records tried are, in nats
_EXPONENT = 600.0  # its exponential still is a double


def public_total_bound(epsilon: float, d: ArrayLike, sum_error: ArrayLike = 0.0) -> Array:
    """Return the largest C that is excluded where neighbours have one record replaced.

    All tables have n records, and n may be public. For every whole m up to n ``(d - 1)(m - C) <=
    e^(eps m) (C + D)``; n must be as large as ``ln(d)/eps`` or so.
    """
    eps, points = check_epsilon(epsilon), check_queries(d)
    D = np.asarray(sum_error, dtype=float)
    if not (D >= 0).all():
        raise InputError(f"the sum error is {sum_error!r}; it must be 0 or more, in counts")
    points, D = np.broadcast_arrays(points, D)
    logs = np.log(points - 1)

    def score(m: Array) -> Array:
        # At a given m the inequality reads C >= (m - a D)/(1 + a) with a = e^(eps m)/(d - 1).
        a = np.exp(np.minimum(eps * m - logs[..., None], _EXPONENT))
        return np.asarray((m - a * D[..., None]) / (1 + a))

    found = best_records(score, np.zeros(points.shape), (logs + _BEYOND) / eps, math.inf)
    return np.maximum(found.value, 0.0)


class SameTable(NamedTuple):
    """Lower bound on the larger of two root errors on one table, and what shows it."""

    error: float
    """In counts: of that cell or of the sum, whichever is larger."""
    chance: float
    """The least probability that the cell is below k, or the sum above m + h."""
    down: int
    """s, from how many records fewer the argument comes back up."""
    k: float
    h: float


def placement_chance(epsilon: float, d: float, m: int, k: float, h: float) -> tuple[float, int]:
    """Return the least chance that some placement of m records goes wrong, and the best s.

    For some cell i ``P(x_i < k or x_* > m + h) >= e^(-eps s) (1 - e^(eps (m - s)) K/d)``, ``K = (m
    + h)/k``, for every whole s from 0 to m.

    Examples
    --------
    >>> chance, s = placement_chance(0.1, 10**6, 138, 69.0, 138.0)
    >>> round(chance, 3), s
    (0.063, 21)
    """
    eps, points = check_epsilon(epsilon), float(check_queries(d))
    if not (m >= 1 and m % 1 == 0 and 0 < k < m and h > 0):
        needed = "a whole m, 0 < k < m and 0 < h are needed"
        raise InputError(f"m is {m!r}, k {k!r} and h {h!r}; {needed}")
    s = np.arange(m + 1.0)
    log_share = math.log((m + h) / k) - math.log(points)
    rest = -np.expm1(np.minimum(eps * (m - s) + log_share, 0.0))
    chances = np.exp(-eps * s) * rest
    best = int(chances.argmax())
    return float(chances[best]), best


def same_table_error(epsilon: float, d: float, m: int) -> SameTable:
    """Return how large the larger root error, of the sum or of the full cell, must be on one table.

    With a chance P as in `placement_chance`, ``P <= C^2/(m - k)^2 + D^2/h^2`` by Markov's
    inequality for the two root errors C and D on that table, so the larger of them is at least
    ``sqrt(P/(1/(m - k)^2 + 1/h^2))``. k and h are searched for.
    """
    best = SameTable(0.0, 0.0, 0, math.nan, math.nan)
    for share in _SHARES:
        for ratio in _RATIOS:
            k, h = m * float(share), m * float(ratio)
            chance, s = placement_chance(epsilon, d, m, k, h)
            error = math.sqrt(chance / (1 / (m - k) ** 2 + 1 / h**2))
            if error > best.error:
                best = SameTable(error, chance, s, k, h)
    return best


def approximate_corollary(guarantee: ApproximateDP, d: ArrayLike, sum_error: ArrayLike) -> Array:
    """Return the explicit first-moment bound with a delta; 0 where m would be below 1.

    ``C >= m (1 - delta_m) - e^(eps m) D/d`` at the whole part m of ``min(ln(d/(eps D)),
    ln(eps/delta) - ln ln(eps/delta))/eps``.
    """
    points, D = check_queries(d), check_error(sum_error, "sum error")
    eps = check_guarantee(guarantee, ApproximateDP).epsilon
    logs = math.log(eps / guarantee.delta)
    if logs <= 1:
        return np.zeros(np.broadcast_shapes(points.shape, D.shape))
    reach = np.log(points) - np.log(eps * D)
    m = np.floor(np.minimum(reach, logs - math.log(logs)) / eps)
    usable = m >= 1
    m = np.maximum(m, 1)
    leak = guarantee.delta * np.expm1(m * eps) / math.expm1(eps)
    value = m * (1 - leak) - np.exp(np.minimum(eps * m, _EXPONENT)) * D / points
    return np.where(usable, np.maximum(value, 0), 0.0)


def one_record_bound(epsilon: float, d: ArrayLike, point_error: ArrayLike) -> Array:
    """Return the first-moment bound on D at m = 1: ``d e^(-eps) (1 - C)``, tight for large epsilon.

    There M_epsilon errs in the sum by about ``d e^(-eps)``, and in a cell by ``sqrt2 e^(-eps/2)``.
    """
    points, C = check_queries(d), check_error(point_error, "point error")
    return np.asarray(points * math.exp(-check_epsilon(epsilon)) * np.maximum(1 - C, 0))
