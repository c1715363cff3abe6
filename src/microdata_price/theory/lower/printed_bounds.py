"""The lower bounds of the paper's Theorem 3 as printed, with the range in which they are true.

With ``y = 2 C + k`` they follow from a packing at ``ceil(y)`` records around a base table that many
records away, which is why they are true exactly where `in_range` says. d and the error broadcast.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ...model.privacy import ConcentratedDP, Guarantee
from ..given import check_error
from .search import largest_true

Array = NDArray[np.float64]

LN2 = math.log(2)
ZCDP_FIRST = 1 / (2 * math.sqrt(LN2))
"""From this y up to 1 the printed zCDP inequality is true: ``ceil(y) <= 2 y sqrt(ln 2)``."""
ZCDP_SECOND = 1 / math.sqrt(LN2)
"""And again from this y on."""


class Printed(NamedTuple):
    """A printed bound on the other error, and the k that gives it; 0 where it says nothing."""

    value: Array
    k: Array


def in_range(guarantee: Guarantee, y: float | Array) -> NDArray[np.bool_]:
    """Say where the printed inequality is true, for ``y = alpha C + k``; see `range_words`."""
    y = np.asarray(y, dtype=float)
    if isinstance(guarantee, ConcentratedDP):
        return ((y >= ZCDP_FIRST) & (y <= 1)) | (y >= ZCDP_SECOND)
    return y >= 0.5


def range_words(guarantee: Guarantee) -> str:
    """Write the y at which `in_range` holds; the right side of zCDP is in bits."""
    zcdp = f"from {ZCDP_FIRST:.4f} to 1, or {ZCDP_SECOND:.4f} or more"
    return zcdp if isinstance(guarantee, ConcentratedDP) else "1/2 or more"


def printed_sides(
    guarantee: Guarantee, d: float | Array, C: float | Array, D: float | Array, k: float | Array
) -> tuple[Array, Array]:
    """Return the two sides of the printed inequality, of which the first is claimed the larger.

    Logarithms for pure and approximate DP, the sides themselves for zCDP. With alpha = beta = 2:

    - pure: ``2 eps (2C + k)`` and ``ln(k(d-1)/(16C + 8D + 4k))``;
    - approximate: ``ln(delta/eps + (4C + 2D + k)/(k(d-1))) + 2 eps (2C + k)`` and ``ln(1/4)``;
    - zCDP: ``rho (4C + 2k)^2`` and ``log2(d-1)/4 - log2((4C + 2D + k)/k) - 1``.
    """
    d, C, D, k = (np.asarray(v, dtype=float) for v in (d, C, D, k))
    ratio = (4 * C + 2 * D + k) / k
    with np.errstate(divide="ignore"):
        if isinstance(guarantee, ConcentratedDP):
            left = guarantee.rho * (4 * C + 2 * k) ** 2
            return left, np.log2(d - 1) / 4 - np.log2(ratio) - 1
        left = 2 * guarantee.epsilon * (2 * C + k)
        if guarantee.delta:
            loose = guarantee.delta / guarantee.epsilon
            return left + np.log(loose + ratio / (d - 1)), np.log(np.full_like(left, 0.25))
        return left, np.log((d - 1) / (4 * ratio))


def printed_point_error(guarantee: Guarantee, d: Array, D: Array) -> Printed:
    """Return the largest C that the printed inequality excludes at some k in its range."""
    d, D = np.broadcast_arrays(np.asarray(d, dtype=float), check_error(D, "sum error"))

    def best_k(C: Array) -> Array:
        if isinstance(guarantee, ConcentratedDP):
            return _zcdp_best_k(guarantee.rho, C, D)
        return _pure_best_k(guarantee, d, C, D)

    def excluded(C: Array) -> NDArray[np.bool_]:
        left, right = printed_sides(guarantee, d, C, D, best_k(C))
        return left < right

    value = largest_true(excluded, np.zeros(d.shape), guarantee.records(np.log(d)))
    return Printed(value, best_k(value))


def _pure_best_k(guarantee: Guarantee, d: Array, C: Array, D: Array) -> Array:
    """Return the k of least left side: the root of ``a k^2 + b k = b/(2 eps)``, or the range's."""
    eps = guarantee.level
    if guarantee.delta:
        a, b = guarantee.delta / eps + 1 / (d - 1), (4 * C + 2 * D) / (d - 1)
    else:
        a, b = np.full_like(d, 4.0), 16 * C + 8 * D
    k = (b / eps) / (b + np.sqrt(b * b + 2 * a * b / eps))
    return np.maximum(k, 0.5 - 2 * C)


def _zcdp_best_k(rho: float, C: Array, D: Array) -> Array:
    A = 4 * C + 2 * D
    low = np.zeros(A.shape)
    high = np.full(A.shape, 1 / math.sqrt(8 * rho * LN2))
    k = largest_true(lambda k: 8 * rho * (2 * C + k) * LN2 * k * (k + A) < A, low, high)
    return _in_zcdp_range(C, k, lambda k: -4 * rho * (2 * C + k) ** 2 - np.log2(1 + A / k))


def _in_zcdp_range(C: Array, k: Array, score: object) -> Array:
    """Move k to the better of the nearest places in the two parts of the range."""
    assert callable(score)
    first = np.clip(2 * C + k, ZCDP_FIRST, 1) - 2 * C
    second = np.maximum(2 * C + k, ZCDP_SECOND) - 2 * C
    usable = first > 0
    with np.errstate(over="ignore", divide="ignore"):
        better = usable & (score(np.where(usable, first, 1.0)) >= score(second))
    return np.where(better, first, second)


def printed_sum_error(guarantee: Guarantee, d: Array, C: Array) -> Printed:
    """Return the largest D that the printed inequality excludes at some k in its range.

    Solved for D it is ``k (c exp(-2 eps k) - c0)`` up to constants, whose best k has ``1 - 2 eps k
    = W(e c0/c)``, W being Lambert's function; for zCDP the best k comes by bisection.
    """
    d, C = np.broadcast_arrays(np.asarray(d, dtype=float), check_error(C, "point error"))
    if isinstance(guarantee, ConcentratedDP):
        rho = guarantee.rho

        def gain(k: Array) -> Array:
            return k * np.expm1(LN2 * (np.log2(d - 1) / 4 - 1 - 4 * rho * (2 * C + k) ** 2))

        def rising(k: Array) -> NDArray[np.bool_]:
            y = 2 * C + k
            power = np.exp2(np.log2(d - 1) / 4 - 1 - 4 * rho * y**2)
            return power * (1 - 8 * rho * LN2 * k * y) > 1

        with np.errstate(divide="ignore"):
            high = np.full(d.shape, 1 / math.sqrt(8 * rho * LN2))
            k = _in_zcdp_range(C, largest_true(rising, np.zeros(d.shape), high), gain)
            return Printed(np.maximum(gain(k) / 2 - 2 * C, 0), k)
    eps = guarantee.epsilon
    loose = guarantee.delta / eps
    # D = (c exp(-2 eps k) k - c0 k - 4 C)/2, with the logarithm of c0/c kept apart.
    with np.errstate(divide="ignore"):
        log_c = np.log(d - 1) - math.log(4) - 4 * eps * C
    c0 = 1 + (d - 1) * loose
    gap = np.log(c0) - log_c
    # W(exp(x)) is Wright's omega of x, which cannot overflow.
    v = special.wrightomega(np.minimum(1 + gap, 1.0))
    k = np.maximum((1 - v) / (2 * eps), 0.5 - 2 * C)
    k = np.maximum(k, np.finfo(float).tiny)
    value = k * (np.exp(log_c - 2 * eps * k) - c0) / 2 - 2 * C
    return Printed(np.maximum(value, 0), k)
