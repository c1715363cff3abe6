"""Noise whose two tails fall at different rates: asymmetric Laplace, and its whole-number version.

A record moves two noisy values, its cell and the sum, and each tail of each value has its own price
in privacy. Only some combinations of tails add up, so that tails of unequal rates can be bought
together (`theory.upper.asymmetric`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .noise import positive

Array = NDArray[np.float64]


@dataclass(frozen=True)
class _Rates:
    right: float  # the rates of the two tails, per count
    left: float

    def __post_init__(self) -> None:
        for name in ("right", "left"):
            rate = positive(getattr(self, name), f"the {name} rate", " per count")
            object.__setattr__(self, name, rate)

    def _falling(self, x: ArrayLike, log_height: float) -> Array:
        """Logarithm of the density at x, from that at 0."""
        at = np.asarray(x, dtype=float)
        return np.asarray(log_height - np.where(at >= 0, self.right * at, -self.left * at))


@dataclass(frozen=True)
class AsymmetricLaplace(_Rates):
    """Noise of density in proportion to ``exp(-right x)`` above 0 and ``exp(left x)`` below.

    Examples
    --------
    >>> z = AsymmetricLaplace(0.5, 0.25)
    >>> z.mean, z.variance
    (-2.0, 20.0)
    """

    @property
    def mean(self) -> float:
        """The mean, in counts."""
        return 1 / self.right - 1 / self.left

    @property
    def variance(self) -> float:
        """The variance, in squared counts."""
        return 1 / self.right**2 + 1 / self.left**2

    def log_density(self, x: ArrayLike) -> Array:
        """Return the logarithm of the density at x."""
        height = math.log(self.right) + math.log(self.left) - math.log(self.right + self.left)
        return self._falling(x, height)

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Array:
        """Draw independent values for a simulation (never for a release)."""
        # The difference of two exponentials has this law.
        up, down = rng.exponential(size=size), rng.exponential(size=size)
        return np.asarray(up / self.right - down / self.left)


@dataclass(frozen=True)
class AsymmetricGeometric(_Rates):
    """Noise on whole numbers: ``P(k)`` in proportion to ``exp(-right k)`` or ``exp(left k)``.

    It is the difference of two independent geometric variables. One count more changes the
    logarithm of the probability of an answer by ``right`` or by ``-left`` exactly, as the
    derivative of the continuous density does. With equal rates it is the double geometric noise.

    Examples
    --------
    >>> z = AsymmetricGeometric(0.5, 0.25)
    >>> k = np.arange(-400, 401)
    >>> bool(np.isclose(np.exp(z.log_density(k)) @ k, z.mean))
    True
    """

    @property
    def mean(self) -> float:
        """The mean, in counts."""
        return 1 / math.expm1(self.right) - 1 / math.expm1(self.left)

    @property
    def variance(self) -> float:
        """The variance, in squared counts."""
        return sum(math.exp(-t) / math.expm1(-t) ** 2 for t in (self.right, self.left))

    @property
    def log_height(self) -> float:
        """The logarithm of ``P(z = 0)``."""
        up, down = math.expm1(-self.right), math.expm1(-self.left)
        return math.log(up * down) - math.log(-math.expm1(-self.right - self.left))

    def log_density(self, x: ArrayLike) -> Array:
        """Return the logarithm of the probability of the whole number x."""
        return self._falling(x, self.log_height)

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Array:
        """Draw independent values for a simulation (never for a release)."""
        up, down = (rng.geometric(-math.expm1(-t), size) for t in (self.right, self.left))
        return np.asarray(up - down, dtype=float)
