"""Lower bounds from first moments: sharper than packings, and with no gap left for zCDP.

On the all-zero table some cell has an expected value of at most D/d. With m records in it, its
expected value must be m - C or more. So for every whole number m:

- pure DP: ``m - C <= e^(eps m) D/d``;
- approximate DP, with min(x, m) for x: ``m - C <= e^(eps m) D/d + m delta_m``;
- zCDP, by Hoelder's inequality for min(x, m)/m at the best Renyi order: ``1 - C/m <= exp(-(sqrt L -
  sqrt(rho) m)^2)`` with ``L = ln(d m/D)``, where ``L >= rho m^2``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...model.privacy import ConcentratedDP, Guarantee
from .packing_bounds import group_delta
from .search import maximise, whole_records

Array = NDArray[np.float64]

_EXPONENT = 690.0  # its exponential still is a double
_BEYOND, _FAR = 4.0, 100.0  # of the records' cost, beyond which no number of them is best
_NEAREST = math.log(1e-7)  # of the range searched, how near to its low end
_COARSE, _ROUNDS, _FIRST = 257, 14, 4  # of the search, and whole numbers that are always tried


class MomentBound(NamedTuple):
    """A bound on the other error and the m that gives it; 0 where it says nothing."""

    value: Array
    m: Array


def moment_point_error(
    guarantee: Guarantee, d: Array, D: Array, *, max_records: float = math.inf
) -> MomentBound:
    """Return the largest C that first moments exclude, given D.

    For pure DP the best real m is ``ln(d/(eps D))/eps``, and the bound about ``(ln(d/(eps D)) -
    1)/eps``.
    """
    d, D = np.broadcast_arrays(np.asarray(d, dtype=float), np.asarray(D, dtype=float))
    log_share = np.log(D) - np.log(d)
    wide = log_share[..., None]

    if isinstance(guarantee, ConcentratedDP):

        def score(m: Array) -> Array:
            L = np.log(m) - wide
            gap = np.sqrt(np.maximum(L, 0)) - math.sqrt(guarantee.level) * m
            return np.asarray(-m * np.expm1(-(np.maximum(gap, 0) ** 2)))
    else:

        def score(m: Array) -> Array:
            grown = np.exp(np.minimum(guarantee.level * m + wide, _EXPONENT))
            return np.asarray(m * (1 - group_delta(guarantee, m)) - grown)

    cost = np.abs(log_share) + abs(math.log(guarantee.level))
    high = guarantee.records(_BEYOND * cost + _FAR)
    found = best_records(score, np.zeros(d.shape), high, max_records)
    return MomentBound(np.maximum(found.value, 0), found.m)


def moment_sum_error(
    guarantee: Guarantee, d: Array, C: Array, *, max_records: float = math.inf
) -> MomentBound:
    """Return the largest D that first moments exclude, given C.

    Pure and approximate DP: ``d e^(-eps m) (m (1 - delta_m) - C)``. zCDP: ``d m exp(-(sqrt(rho) m +
    sqrt(-ln(1 - C/m)))^2)``. So D is at least a constant times d at every fixed level.
    """
    d, C = np.broadcast_arrays(np.asarray(d, dtype=float), np.asarray(C, dtype=float))
    wide = C[..., None]

    if isinstance(guarantee, ConcentratedDP):

        def score(m: Array) -> Array:
            above = np.maximum(m - wide, np.finfo(float).tiny)
            needed = np.sqrt(np.maximum(np.log(m) - np.log(above), 0))
            cost = (math.sqrt(guarantee.level) * m + needed) ** 2
            return np.where(m > wide, np.log(m) - cost, -np.inf)
    else:

        def score(m: Array) -> Array:
            rest = m * (1 - group_delta(guarantee, m)) - wide
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(np.maximum(rest, 0)) - guarantee.level * m)

    found = best_records(score, C, C + guarantee.records(np.full_like(C, _FAR)), max_records)
    return MomentBound(np.exp(np.log(d) + np.where(found.m > 0, found.value, -np.inf)), found.m)


def best_records(
    score: Callable[[Array], Array], low: Array, high: Array, max_records: float
) -> MomentBound:
    """Maximise a score over whole m from ``low`` to ``high``; m is 0 where no score is finite."""
    high = np.minimum(high, max_records)
    low = np.minimum(low, high)
    # Distances from the low end on a logarithmic scale: the best m may lie just above it.
    reach = np.maximum(high - low, np.finfo(float).tiny)
    x, _ = maximise(
        lambda x: score(low[..., None] + reach[..., None] * np.exp(x)),
        np.full(low.shape, _NEAREST),
        np.zeros(low.shape),
        _COARSE,
        _ROUNDS,
    )
    whole = whole_records(low + reach * np.exp(x), low, _FIRST, max_records)
    values = score(whole)
    i = values.argmax(axis=-1)[..., None]
    m, value = (np.take_along_axis(v, i, axis=-1)[..., 0] for v in (whole, values))
    return MomentBound(value, np.where(np.isfinite(value), m, 0.0))
