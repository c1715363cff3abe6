"""Continuous noise: Laplace and Gaussian, their moments, and the law of a maximum."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from reprlib import repr as shown
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ..exceptions import InputError
from .table import check_numbers

Array = NDArray[np.float64]
_LN2, _DRAWS = math.log(2.0), "the number of draws"


class Excess(NamedTuple):
    """Moments of ``(z - q)+``, the part of the noise beyond q.

    By symmetry they also say what clipping at zero does to a count q: the noisy count is negative
    by ``(-q - z)+``, which has the same law.
    """

    first: Array  # ``E (z - q)+``, in counts
    second: Array  # ``E ((z - q)+)^2``, in squared counts


class Noise(Protocol):
    """Interface of noise distributions, symmetric about zero, in units of counts."""

    @property
    def variance(self) -> float:
        """Variance, in squared counts."""

    @property
    def std(self) -> float:
        """Standard deviation, in counts."""

    def log_cdf(self, x: float | Array) -> Array:
        """Logarithm of ``P(z <= x)``, accurate in both tails."""

    def upper_quantile(self, p: float | Array) -> Array:
        """Return the t with ``P(z > t) = p``."""

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Array:
        """Draw independent values for a simulation (never for a release)."""


def positive(value: float, name: str, unit: str) -> float:
    """Return a parameter of noise as a float, or say why it is no positive number."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (number and 0 < value <= sys.float_info.max):
        raise InputError(f"{name} is {shown(value)}; it must be a positive number{unit}")
    return float(value)


def check_chance(p: ArrayLike) -> Array:
    """Return chances as floats, or say why they are none."""
    return check_numbers(p, "the chance", lambda x: (x > 0) & (x < 1), "between 0 and 1")


def check_count(
    q: ArrayLike, what: str = "the count", least: float = 0, *, whole: bool = False
) -> Array:
    """Return counts as floats, or say why they are none; noise on the integers wants whole ones."""
    kept, wanted = (np.floor, "a whole number of ") if whole else (np.positive, "")
    wanted += f"{least:g} or more"
    return check_numbers(q, what, lambda x: (x >= least) & (x == kept(x)), wanted)


@dataclass(frozen=True)
class Laplace:
    """Laplace noise with density ``exp(-|x|/scale) / (2 scale)`` (the paper's Theorem 1).

    Examples
    --------
    >>> Laplace(8.0).variance
    128.0
    """

    scale: float  # b, in counts

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "the noise's scale", " of counts"))

    @property
    def variance(self) -> float:
        """Variance, in squared counts."""
        return 2 * self.scale**2

    @property
    def std(self) -> float:
        """Standard deviation, in counts."""
        return math.sqrt(2) * self.scale

    def log_cdf(self, x: float | Array) -> Array:
        """Logarithm of ``P(z <= x)``, accurate in both tails."""
        t = np.asarray(x, dtype=float) / self.scale
        low = np.minimum(t, 0) - _LN2
        high = np.log1p(-0.5 * np.exp(-np.maximum(t, 0)))
        return np.where(t < 0, low, high)

    def upper_quantile(self, p: float | Array) -> Array:
        """Return the t with ``P(z > t) = p``."""
        p = check_chance(p)
        high = -np.log(2 * np.minimum(p, 0.5))
        low = np.log(2 * np.minimum(1 - p, 0.5))
        return np.asarray(self.scale * np.where(p < 0.5, high, low))

    def pdf(self, x: float | Array) -> Array:
        """Density at x, per count."""
        t = np.abs(np.asarray(x, dtype=float)) / self.scale
        return np.asarray(np.exp(-t) / (2 * self.scale))

    def excess(self, q: float | Array) -> Excess:
        """Moments of ``(z - q)+`` at q >= 0: ``b e^(-q/b)/2`` and ``b^2 e^(-q/b)``."""
        decay = np.exp(-check_count(q) / self.scale)
        return Excess(decay * (self.scale / 2), decay * self.scale**2)

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Array:
        """Draw independent values for a simulation (never for a release)."""
        return rng.laplace(0.0, self.scale, size)


@dataclass(frozen=True)
class Gaussian:
    """Gaussian noise with mean zero (the paper's Theorem 2)."""

    std: float  # the standard deviation, in counts

    def __post_init__(self) -> None:
        std = positive(self.std, "the noise's standard deviation", " of counts")
        object.__setattr__(self, "std", std)

    @property
    def variance(self) -> float:
        """Variance, in squared counts."""
        return self.std**2

    def log_cdf(self, x: float | Array) -> Array:
        """Logarithm of ``P(z <= x)``, accurate in both tails."""
        return np.asarray(special.log_ndtr(np.asarray(x, dtype=float) / self.std))

    def upper_quantile(self, p: float | Array) -> Array:
        """Return the t with ``P(z > t) = p``."""
        return np.asarray(-self.std * special.ndtri(check_chance(p)))

    def pdf(self, x: float | Array) -> Array:
        """Density at x, per count."""
        t = np.asarray(x, dtype=float) / self.std
        return np.asarray(np.exp(-(t**2) / 2) / (math.sqrt(2 * math.pi) * self.std))

    def excess(self, q: float | Array) -> Excess:
        """Moments of ``(z - q)+`` at q >= 0, with ``t = q/std``.

        They are ``std (phi(t) - t P(z > q))`` and ``std^2 ((1 + t^2) P(z > q) - t phi(t))``.
        """
        # Far beyond every tail the squares need not overflow.
        t = np.minimum(check_count(q) / self.std, 1e9)
        # Mills' ratio (1 - Phi(t))/phi(t) keeps the differences accurate far out.
        mills = math.sqrt(math.pi / 2) * special.erfcx(t / math.sqrt(2))
        phi = np.exp(-(t**2) / 2) / math.sqrt(2 * math.pi)
        first, second = 1 - t * mills, (1 + t**2) * mills - t
        return Excess(self.std * phi * first, self.variance * phi * second)

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Array:
        """Draw independent values for a simulation (never for a release)."""
        return rng.normal(0.0, self.std, size)


def max_exceeds(noise: Noise, count: int | Array, x: float | Array) -> Array:
    """Probability that the largest of ``count`` fresh draws is ``x`` or more.

    Used by the cutoff of reweighted fitting (the paper's Algorithm 2). For noise in whole numbers
    it is the probability of more than ``x``.
    """
    return np.asarray(-np.expm1(check_count(count, _DRAWS) * noise.log_cdf(x)))


def max_quantile(noise: Noise, count: int | Array, p: float | Array) -> Array:
    """Return the t that the largest of ``count`` draws reaches with probability ``p``, in counts.

    The inverse of `max_exceeds` (the cutoff of the paper's Algorithm 2 compares with it).

    Examples
    --------
    >>> round(float(max_exceeds(Laplace(1.0), 7, max_quantile(Laplace(1.0), 7, 0.01))), 12)
    0.01
    """
    each = np.log1p(-check_chance(p)) / check_count(count, _DRAWS, 1)
    return noise.upper_quantile(-np.expm1(each))


def max_median(noise: Noise, count: int | Array) -> Array:
    """Median of the largest of ``count`` draws, in counts (the paper's Algorithm 2, downweight).

    Examples
    --------
    >>> round(float(max_median(Gaussian(1.0), 100)), 3)
    2.462
    """
    return noise.upper_quantile(-np.expm1(-_LN2 / check_count(count, _DRAWS, 1)))
