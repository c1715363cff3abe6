"""Noise on the integers that chapters study: truncated, beside the two that releases draw."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.numbers import check_whole
from .noise import Excess, check_count
from .noise_released import DiscreteGaussian, DoubleGeometric, WholeNoise, floored
from .privacy import check_epsilon

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TruncatedDoubleGeometric(WholeNoise):
    """Double geometric noise clipped at ``-bound`` and ``bound`` (the paper's TDGeo, Theorem 4.5).

    Examples
    --------
    >>> TruncatedDoubleGeometric(0.5, 20).variance < DoubleGeometric(0.5).variance
    True
    """

    epsilon: float  # the decay per count of the noise before clipping
    bound: int  # B, in counts

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "bound", check_whole(self.bound, "the noise's bound"))

    @property
    def ratio(self) -> float:
        """The ratio ``r = exp(-epsilon)`` of neighbouring probabilities inside the bounds."""
        return math.exp(-self.epsilon)

    @property
    def variance(self) -> float:
        """Variance, in squared counts: twice the second moment of ``(z)+``."""
        return 2 * float(self.excess(0.0).second)

    def log_pmf(self, k: float | Array) -> Array:
        """Logarithm of ``P(z = k)`` at integers k; minus infinity outside the bounds."""
        size = np.abs(np.asarray(k, dtype=float))
        inner = math.log(math.tanh(self.epsilon / 2)) - self.epsilon * size
        edge = -self.epsilon * self.bound - math.log1p(self.ratio)
        return np.where(size < self.bound, inner, np.where(size == self.bound, edge, -np.inf))

    def log_cdf(self, x: float | Array) -> Array:
        """Logarithm of ``P(z <= x)``, accurate in both tails."""
        k = floored(x)
        inside = DoubleGeometric(self.epsilon).log_cdf(np.clip(k, -self.bound, self.bound - 1))
        return np.where(k < -self.bound, -np.inf, np.where(k >= self.bound, 0.0, inside))

    def upper_quantile(self, p: float | Array) -> Array:
        """Return the smallest integer t with ``P(z > t) <= p``."""
        return np.clip(DoubleGeometric(self.epsilon).upper_quantile(p), -self.bound, self.bound)

    def excess(self, q: float | Array) -> Excess:
        """Moments of ``(z - q)+`` at integers q >= 0, from ``P(z > j)`` for q <= j < bound."""
        q = check_count(q, whole=True)
        steps = np.maximum(self.bound - q, 0)
        scale = np.exp(-self.epsilon * (q + 1)) / (1 + self.ratio)
        plain = np.expm1(-self.epsilon * steps) / math.expm1(-self.epsilon)
        return Excess(scale * plain, scale * _odd_sum(self.epsilon, steps))

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Array:
        """Draw independent values for a simulation (never for a release)."""
        return np.clip(DoubleGeometric(self.epsilon).sample(rng, size), -self.bound, self.bound)


_FEW = 1000  # terms that are added up; more have the closed form


def _odd_sum(epsilon: float, steps: Array) -> Array:
    """Sum ``(2 i + 1) exp(-epsilon i)`` over i = 0, ..., steps - 1."""
    x = epsilon / 2
    i = np.arange(_FEW)
    sums = np.concatenate([[0.0], np.cumsum((2 * i + 1) * np.exp(-2 * x * i))])
    listed = sums[np.minimum(steps, _FEW).astype(int)]
    if x > 0.05:  # the terms left out are below exp(-100)
        return np.asarray(listed)
    # The closed form cancels where there are few terms, so these are added one by one.
    left = np.exp(-2 * x * steps)
    half = -np.expm1(-2 * x * steps) / 2 * math.cosh(x) - steps * left * math.sinh(x)
    return np.where(steps <= _FEW, listed, math.exp(x) * half / math.sinh(x) ** 2)


DiscreteNoise = DoubleGeometric | TruncatedDoubleGeometric | DiscreteGaussian
"""Any of the three integer distributions."""

__all__ = ["DiscreteGaussian", "DiscreteNoise", "DoubleGeometric", "TruncatedDoubleGeometric"]
