"""The paper's Theorem 4 with every constant written out, and what the same proofs give when tight.

All errors are root expected squared errors in counts, and hold on every table: C for each point
query, D for the sum. Functions take arrays of d.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...model.noise import Gaussian, Laplace
from ...model.noise_discrete import TruncatedDoubleGeometric
from ...model.privacy import ConcentratedDP, PureDP, check_delta, check_epsilon, check_guarantee
from ...theory.given import check_points
from .exact_errors import AnyNoise, m_epsilon, m_rho, worst_clipped_sum
from .extremes import Moments, extremes, lemma1
from .truncation import smallest_bound

Array = NDArray[np.float64]

_SUMMED = 100_000
"""Up to this B the law of the largest truncated noise is summed; beyond, B bounds it."""


class Guaranteed(NamedTuple):
    """Root errors that hold on every table: C of each point query and D of the sum, in counts."""

    C: Array
    D: Array


_LEAST = math.nextafter(0.0, 1.0)


def item1(epsilon: float, d: float | Array) -> Guaranteed:
    """Bound M_epsilon as Theorem 4, item 1 does: ``C^2 <= 2/eps^2``, ``D^2 <= 2 d^2/eps^2``."""
    points = check_points(d)
    C = np.full(points.shape, math.sqrt(2) / check_epsilon(epsilon))
    return Guaranteed(C, points * C)


def exact_clipping(guarantee: PureDP | ConcentratedDP, d: float | Array) -> Guaranteed:
    """Return the exact suprema over all tables of the errors of M_epsilon or M_rho.

    A large count has the whole noise variance; the sum's worst table is in `worst_clipped_sum`.
    """
    check_guarantee(guarantee, PureDP, ConcentratedDP)
    noise: AnyNoise
    noise = m_epsilon(guarantee.epsilon) if isinstance(guarantee, PureDP) else m_rho(guarantee.rho)
    # Squares below all doubles are rounded upwards: a bound of 0 would be false.
    squares = np.maximum(worst_clipped_sum(noise, d).squared_error, _LEAST)
    C = math.sqrt(max(noise.variance, _LEAST))
    return Guaranteed(np.full(squares.shape, C), np.sqrt(squares))


def equation_bound(noise: Laplace | Gaussian, largest: Moments) -> Array:
    """Bound C^2 as the proofs of items 3 and 4 end: ``E (|z*| + 2 max |z_j|)^2``, in full."""
    size = 2 * float(noise.excess(0.0).first)
    square = noise.variance + 4 * size * np.asarray(largest.mean) + 4 * np.asarray(largest.square)
    return np.asarray(square)


def item3(epsilon: float, d: float | Array) -> Guaranteed:
    """Bound M'_epsilon as Theorem 4, item 3 does: ``D^2 <= 8/eps^2``, C through Lemma 1.

    With b = 2/eps ``C^2 <= b^2 (2 + 4 (ln d + 1) + 4 (ln^2 d + 2 ln d + 2))``.
    """
    noise, points = Laplace(2 / check_epsilon(epsilon)), check_points(d)
    C = np.sqrt(equation_bound(noise, lemma1(noise, points)))
    return Guaranteed(C, np.full(points.shape, noise.std))


def _truncated(epsilon: float, delta: float) -> TruncatedDoubleGeometric:
    e, d = check_epsilon(epsilon), check_delta(delta)
    return TruncatedDoubleGeometric(e / 2, smallest_bound(e, d))


def certified(guarantee: PureDP | ConcentratedDP, d: float | Array) -> Guaranteed:
    """Bound fitting to the noisy sum with half of the budget, as tightly as the bracket allows.

    From ``|x_i - q_i| <= |z_i| + |z*| + max |z_j|`` and Minkowski's inequality ``C <= sd(z) +
    sd(z*) + sqrt(E max z_j^2)``.
    """
    noise = check_guarantee(guarantee, PureDP, ConcentratedDP).noise()
    grown = 0.5 ** (-1 / guarantee.norm)
    largest = np.sqrt(np.asarray(extremes(noise, d).square))
    C = (noise.std + largest) * grown + noise.std * grown
    return Guaranteed(C, np.full(C.shape, noise.std * grown))


def certified_truncated(epsilon: float, delta: float, d: float | Array) -> Guaranteed:
    """Bound M'_(epsilon,delta) as tightly as the bracket allows (see `certified`).

    ``C <= sd(z) + sd(z*) + sqrt(E max z_j^2)``, which is at most ``sd(z) + sd(z*) + B`` whatever d.
    """
    noise = _truncated(epsilon, delta)
    points = check_points(d)
    largest = np.full(points.shape, float(noise.bound))
    if noise.bound <= _SUMMED:
        largest = np.sqrt(np.asarray(extremes(noise, points).square))
    return Guaranteed(2 * noise.std + largest, np.full(points.shape, noise.std))
