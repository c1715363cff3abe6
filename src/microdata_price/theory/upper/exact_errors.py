"""Exact errors of clipping at zero: the paper's M_epsilon and M_rho (Theorem 4, items 1 and 2)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...model.noise import Gaussian, Laplace
from ...model.noise_discrete import DiscreteGaussian, DiscreteNoise, DoubleGeometric
from ...model.privacy import check_epsilon, check_rho
from ...model.table import real_numbers
from ...theory.given import check_points

Array = NDArray[np.float64]
AnyNoise = Laplace | Gaussian | DiscreteNoise
_FAR = 1e300  # beyond every tail q E1 would be infinity times zero


class Clipped(NamedTuple):
    """Bias in counts and squared error in squared counts of ``max(0, q + z)`` at counts q."""

    bias: Array
    squared_error: Array


class WorstSum(NamedTuple):
    """The largest expected squared error of the sum over all tables, and where it is attained."""

    squared_error: Array
    all_zero: NDArray[np.bool_]
    """True where the all-zero table is worst; else it is approached by tables of large counts."""


def m_epsilon(epsilon: float) -> DoubleGeometric:
    """Return the noise of M_epsilon: DGeo(epsilon) on every cell (Theorem 4, item 1)."""
    return DoubleGeometric(check_epsilon(epsilon))


def m_rho(rho: float) -> DiscreteGaussian:
    """Return the noise of M_rho: DGauss(0, 1/(2 rho)) on every cell (Theorem 4, item 2)."""
    return DiscreteGaussian(1 / (2 * check_rho(rho)))


def clipped(noise: AnyNoise, counts: ArrayLike) -> Clipped:
    """Return bias and expected squared error of ``max(0, q + z)`` at counts q.

    A noisy count below zero is lifted by the excess of ``-z`` over q, whose first two moments E1
    and E2 give the bias ``E1`` and the squared error ``V - E2 - 2 q E1``. For DGeo(e) that is
    ``e^(-e q)/(2 sinh e)`` and ``V (1 - e^(-e q)/2) - q e^(-e q)/sinh e``.

    Examples
    --------
    >>> bias, error = clipped(DoubleGeometric(0.5), [0, 1000])
    >>> bool(error[0] == DoubleGeometric(0.5).variance / 2)
    True
    """
    q = np.minimum(real_numbers(counts, "the count"), _FAR)
    first, second = noise.excess(q)
    return Clipped(np.asarray(first), np.asarray(noise.variance - second - 2 * q * first))


def clipped_sum(noise: AnyNoise, counts: ArrayLike, cells: ArrayLike = 1) -> float:
    """Return the expected squared error of the sum of clipped noisy counts, in squared counts.

    ``sum_i (E err_i^2 - bias_i^2) + (sum_i bias_i)^2``; with ``cells`` the counts are the distinct
    ones, and so many cells hold each.
    """
    bias, error = clipped(noise, counts)
    n = np.broadcast_to(check_points(cells, least=0), bias.shape)
    spread = math.fsum((n * (error - bias**2)).ravel())
    return spread + math.fsum((n * bias).ravel()) ** 2


def worst_clipped_sum(noise: AnyNoise, d: float | Array) -> WorstSum:
    """Return the supremum over all tables of the sum's expected squared error.

    It is the larger of the all-zero table's ``d V/2 + d(d-1) bias_0^2`` and the all-large tables'
    ``d V``: the error is convex in the numbers of cells that hold each count, so some table of
    equal counts is worst, and as they grow the error falls, then rises.

    Examples
    --------
    >>> float(worst_clipped_sum(Laplace(1.0), 100).squared_error)
    2575.0
    """
    points = check_points(d)
    lifted = float(clipped(noise, 0.0).bias)
    zero = points * noise.variance / 2 + points * (points - 1) * lifted**2
    large = points * noise.variance
    return WorstSum(np.maximum(zero, large), zero > large)
