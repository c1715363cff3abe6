"""The largest of d noises: its exact moments, and the bounds of the paper's Lemma 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ...exceptions import InputError
from ...model.noise import Gaussian, Laplace
from ...model.noise_discrete import DiscreteNoise
from ..given import check_points

Array = NDArray[np.float64]

SURE = 45.0
"""What lies so many nats beyond has a chance below 1e-19."""
_TINY, _MOST = 1e-19, 1e7  # a chance that is left out; terms of a sum
_PANELS, _ORDER = 48, 16
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(_ORDER)
_PLACES = (np.arange(_PANELS)[:, None] + (_NODES + 1) / 2) / _PANELS


class Moments(NamedTuple):
    """Mean and mean square of a nonnegative variable, in counts and squared counts; any shape."""

    mean: Array
    square: Array

    def __add__(self, other: object) -> Moments:
        """Return the moments of the sum with an independent variable."""
        assert isinstance(other, Moments)
        mean = self.mean + other.mean
        return Moments(mean, self.square + other.square + 2 * self.mean * other.mean)


def harmonic(d: float | Array) -> tuple[Array, Array]:
    """Return the sums of ``1/i`` and of ``1/i^2`` over i = 1, ..., d."""
    d = check_points(d)
    first = special.digamma(d + 1) + np.euler_gamma
    second = math.pi**2 / 6 - special.polygamma(1, d + 1)
    return np.asarray(first), np.asarray(second)


def extremes(noise: Laplace | Gaussian | DiscreteNoise, d: float | Array) -> Moments:
    """Return the exact moments of the largest absolute value of d independent noises.

    Laplace noise of scale b: ``b H_d`` and ``b^2 (H_d^2 + H2_d)``. Gaussian noise: quadrature of
    ``p t^(p-1) (1 - F(t)^d)``, F the cdf of ``|z|``. Integer noise: a sum over k = 1, 2, ....

    Examples
    --------
    >>> round(float(extremes(Laplace(1.0), 2).square), 12)
    3.5
    """
    points = check_points(d)
    if isinstance(noise, Laplace):
        first, second = harmonic(points)
        return Moments(noise.scale * first, noise.scale**2 * (first**2 + second))
    if isinstance(noise, Gaussian):
        end = np.sqrt(2 * (np.log(points) + SURE))
        one = largest(end, points, lambda t: np.log1p(-special.erfc(t / math.sqrt(2))))
        return Moments(noise.std * one.mean, noise.variance * one.square)
    return _integer(noise, points)


def largest(end: Array, d: Array, log_below: Callable[[Array], Array]) -> Moments:
    """Return the moments of the largest of d, given ``ln P(z <= t)`` of one up to an end."""
    end = end[..., None, None]
    t = end * _PLACES
    above = end * _WEIGHTS / (2 * _PANELS) * -np.expm1(d[..., None, None] * log_below(t))
    return Moments(above.sum((-1, -2)), (2 * t * above).sum((-1, -2)))


def _integer(noise: DiscreteNoise, d: Array) -> Moments:
    # P(|z| >= k) = 2 P(z > k - 1) for k >= 1; stop where d times it is below 1e-19.
    far = float(noise.upper_quantile(_TINY / float(d.max()))) + 1
    if not far < _MOST:
        raise InputError(
            f"the largest of {float(d.max()):g} draws of {noise!r} would need {far:.2g} terms; "
            "use Laplace or Gaussian noise of the same variance in its place"
        )
    k = np.arange(1, far + 1)
    inside = np.log1p(-2 * noise.sf(k - 1))
    mean, square = np.empty(d.shape), np.empty(d.shape)
    for i, n in np.ndenumerate(d):
        above = -np.expm1(n * inside)
        mean[i], square[i] = above.sum(), ((2 * k - 1) * above).sum()
    return Moments(mean, square)


def lemma1(noise: Laplace | Gaussian, d: float | Array) -> Moments:
    """Upper bounds on the same moments, as the paper's Lemma 1 proves them.

    Laplace noise of scale b: ``b (ln d + 1)`` and ``b^2 (ln^2 d + 2 ln d + 2)``, for d >= 1.
    Gaussian noise, for d >= 2: ``std (g + 4/(sqrt(2 pi) g^2))`` and ``std^2 (g^2 + 4/(sqrt(2 pi)
    g))`` with ``g = sqrt(2 ln d)``.
    """
    points = check_points(d)
    if isinstance(noise, Gaussian) and (points < 2).any():
        raise InputError("Lemma 1 for Gaussian noise needs 2 or more draws: it divides by ln d")
    log = np.log(points)
    return lemma1_split(noise, points, log if isinstance(noise, Laplace) else np.sqrt(2 * log))


def lemma1_split(noise: Laplace | Gaussian, d: float | Array, split: float | Array) -> Moments:
    """Lemma 1's bound before its split point (gamma, in scales) is chosen.

    The proof bounds ``P(max > t)`` by 1 below the split and by ``d P(|z| > t)`` above it. The lemma
    takes ``ln d`` for Laplace and ``sqrt(2 ln d)`` for Gaussian noise.
    """
    points, g = check_points(d), np.asarray(split, dtype=float)
    if isinstance(noise, Laplace):
        tail = points * np.exp(-g)
        return Moments(noise.scale * (g + tail), noise.scale**2 * (g**2 + 2 * g * tail + 2 * tail))
    tail = 4 * points * np.exp(-(g**2) / 2) / math.sqrt(2 * math.pi)
    return Moments(noise.std * (g + tail / g**2), noise.variance * (g**2 + tail / g))
