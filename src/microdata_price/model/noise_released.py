"""Noise on the integers that releases draw: double geometric (discrete Laplace) and Gaussian."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from .noise import Excess, Gaussian, Noise, check_chance, check_count, positive
from .privacy import check_epsilon

Array = NDArray[np.float64]
_EXACT = 2.0**53  # from here on doubles skip whole numbers, and a guess cannot be told from others


def floored(x: float | Array) -> Array:
    """Round down, since an integer's law only changes at integers."""
    return np.asarray(np.floor(np.asarray(x, dtype=float)))


class WholeNoise(Noise, Protocol):
    """Interface of noise on the integers."""

    @property
    def std(self) -> float:
        """Standard deviation, in counts."""
        return math.sqrt(self.variance)

    def log_pmf(self, k: float | Array) -> Array:
        """Logarithm of ``P(z = k)`` at integers k; minus infinity where it is 0."""

    def pmf(self, k: float | Array) -> Array:
        """Probability ``P(z = k)`` at integers k."""
        return np.exp(self.log_pmf(k))

    def sf(self, x: float | Array) -> Array:
        """Probability ``P(z > x)``; by symmetry ``P(z <= -x - 1)`` at integers."""
        return np.exp(self.log_cdf(-floored(x) - 1))


def _integer_quantile(sf: Callable[[Array], Array], p: Array, guess: Array) -> Array:
    """Return the smallest integer t with ``P(z > t) <= p``, from a guess that is off by a few."""
    t = np.array(np.broadcast_to(guess, p.shape), dtype=float)
    while (move := (sf(t - 1) <= p) & (np.abs(t) < _EXACT)).any():
        t[...] = t - move
    while (move := (sf(t) > p) & (np.abs(t) < _EXACT)).any():
        t[...] = t + move
    return t


@dataclass(frozen=True)
class DoubleGeometric(WholeNoise):
    """Double geometric noise: ``P(z = k)`` is proportional to ``exp(-epsilon |k|)``.

    The paper's DGeo(epsilon), in the proof of its Theorem 4. Added to one integer count it is
    epsilon-DP.

    Examples
    --------
    >>> round(DoubleGeometric(1.0).variance, 4), round(float(DoubleGeometric(1.0).pmf(0)), 4)
    (1.8413, 0.4621)
    """

    epsilon: float  # the decay per count; as a share, it may be below the least level

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon, least=1e-60))

    @property
    def ratio(self) -> float:
        """The ratio ``r = exp(-epsilon)`` of neighbouring probabilities."""
        return math.exp(-self.epsilon)

    @property
    def variance(self) -> float:
        """Variance ``2 r / (1 - r)^2``, in squared counts."""
        return 2 * self.ratio / math.expm1(-self.epsilon) ** 2

    def log_pmf(self, k: float | Array) -> Array:
        """Logarithm of ``P(z = k)`` at integers k."""
        size = np.abs(np.asarray(k, dtype=float))
        return np.asarray(math.log(math.tanh(self.epsilon / 2)) - self.epsilon * size)

    def log_cdf(self, x: float | Array) -> Array:
        """Logarithm of ``P(z <= x)``, accurate in both tails."""
        k = floored(x)
        low = self.epsilon * np.minimum(k, 0) - math.log1p(self.ratio)
        tail = np.exp(-self.epsilon * (np.maximum(k, 0) + 1)) / (1 + self.ratio)
        return np.where(k < 0, low, np.log1p(-tail))

    def upper_quantile(self, p: float | Array) -> Array:
        """Return the smallest integer t with ``P(z > t) <= p``."""
        p = check_chance(p)
        high = -np.log(p * (1 + self.ratio)) / self.epsilon - 1
        low = np.log((1 - p) * (1 + self.ratio)) / self.epsilon
        guess = np.ceil(np.where(high >= 0, high, np.minimum(low, 0)))
        return _integer_quantile(self.sf, p, guess)

    def excess(self, q: float | Array) -> Excess:
        """Moments of ``(z - q)+`` at integers q >= 0: ``r^q/(2 sinh epsilon)``, ``r^q V/2``."""
        decay = np.exp(-self.epsilon * check_count(q, whole=True))
        first = self.ratio / -math.expm1(-2 * self.epsilon)
        return Excess(decay * first, decay * (self.variance / 2))

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Array:
        """Draw independent values for a simulation (never for a release)."""
        p = -math.expm1(-self.epsilon)
        return (rng.geometric(p, size) - rng.geometric(p, size)).astype(float)


# From this sigma on the tails are integrals with one midpoint correction, whose relative error is
# far below a double's; below it they are sums.
_WIDE = 1e5


@dataclass(frozen=True)
class DiscreteGaussian(WholeNoise):
    """Discrete Gaussian noise: ``P(z = k)`` is proportional to ``exp(-k^2 / (2 sigma2))``.

    The paper's DGauss(0, sigma2), in the proof of its Theorem 4. Added to one integer count it is
    rho-zCDP with ``rho = 1 / (2 sigma2)``.

    Examples
    --------
    >>> DiscreteGaussian(1.0).variance < 1, round(float(DiscreteGaussian(1.0).pmf(0)), 6)
    (True, 0.398942)
    """

    sigma2: float  # in squared counts; the variance is a little smaller

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma2", positive(self.sigma2, "the noise's sigma2", ""))

    @property
    def sigma(self) -> float:
        """The root of the parameter, in counts."""
        return math.sqrt(self.sigma2)

    @cached_property
    def _sums(self) -> tuple[float, float]:
        """The variance, and the logarithm of the weights' sum: theta series, converging at once."""
        s2, k = self.sigma2, np.arange(1, 40)
        if s2 < 0.3:
            w = np.exp(-(k**2) / (2 * s2))
            variance = 2 * (k**2 * w).sum() / (1 + 2 * w.sum())
            return float(variance), float(np.log1p(2 * w.sum()))
        # Poisson summation: the dual series has the terms exp(-2 pi^2 sigma2 j^2).
        w = np.exp(-2 * np.pi**2 * s2 * k**2)
        missing = 8 * np.pi**2 * s2 * (k**2 * w).sum() / (1 + 2 * w.sum())
        log_total = 0.5 * math.log(2 * math.pi * s2) + float(np.log1p(2 * w.sum()))
        return float(s2 * (1 - missing)), log_total

    @property
    def variance(self) -> float:
        """Variance, in squared counts."""
        return self._sums[0]

    def log_pmf(self, k: float | Array) -> Array:
        """Logarithm of ``P(z = k)`` at integers k."""
        return -(np.asarray(k, dtype=float) ** 2) / (2 * self.sigma2) - self._sums[1]

    @cached_property
    def _tails(self) -> tuple[Array, Array, Array]:
        """``P(z > q)`` and the two moments of ``(z - q)+`` at q = 0, 1, ..., far out."""
        p = self.pmf(np.arange(math.ceil(39 * self.sigma) + 3.0))
        tail = np.concatenate([np.cumsum(p[:0:-1])[::-1], [0.0]])
        first = np.cumsum(tail[::-1])[::-1]
        second = 2 * np.cumsum(first[::-1])[::-1] - first
        return tail, first, second

    def sf(self, x: float | Array) -> Array:
        """Probability ``P(z > x)``."""
        k = floored(x)
        q = np.where(k >= 0, k, -k - 1)
        if self.sigma >= _WIDE:
            t = np.minimum(q + 0.5, 1e9 * self.sigma)  # far beyond every tail, but finite
            slope = -t / self.sigma2 * self.pmf(t)
            above = np.maximum(special.ndtr(-t / self.sigma) + slope / 24, 0)
        else:
            above = self._look_up(self._tails[0], q)
        return np.where(k >= 0, above, 1 - above)

    def log_cdf(self, x: float | Array) -> Array:
        """Logarithm of ``P(z <= x)``, accurate in both tails."""
        k = floored(x)
        q = np.abs(k + 0.5) - 0.5
        above = self.sf(q)
        with np.errstate(divide="ignore"):
            log_above = np.array(np.log(above))
        # Where the tail itself would be too small to write, its logarithm comes from its terms.
        for i in np.argwhere((above < 1e-290) & np.isfinite(q)):
            log_above[tuple(i)] = self._log_tail(float(q[tuple(i)]))
        return np.where(k >= 0, np.log1p(-above), log_above)

    def _log_tail(self, q: float) -> float:
        if self.sigma >= _WIDE:
            return float(special.log_ndtr(-(q + 0.5) / self.sigma))
        j = np.arange(math.ceil(2 * self.sigma) + 12.0)
        terms = np.exp(-(2 * (q + 1) * j + j**2) / (2 * self.sigma2))
        return float(self.log_pmf(q + 1)) + math.log(float(terms.sum()))

    def upper_quantile(self, p: float | Array) -> Array:
        """Return the smallest integer t with ``P(z > t) <= p``."""
        p = check_chance(p)
        return _integer_quantile(self.sf, p, np.ceil(Gaussian(self.sigma).upper_quantile(p)))

    def excess(self, q: float | Array) -> Excess:
        """Moments of ``(z - q)+`` at integers q >= 0."""
        q = check_count(q, whole=True)
        if self.sigma < _WIDE:
            return Excess(self._look_up(self._tails[1], q), self._look_up(self._tails[2], q))
        # Midpoint rule from q + 1/2 with its first correction, g'(q + 1/2)/24 for the sum of g.
        t = q + 0.5
        above = special.ndtr(-t / self.sigma)
        smooth = Gaussian(self.sigma).excess(t)
        density = self.pmf(t)
        slope = -t / self.sigma2 * density
        first = smooth.first + above / 2 + (density + slope / 2) / 24
        second = smooth.second + smooth.first + above / 4 + (density + slope / 4) / 24
        return Excess(first, second)

    @staticmethod
    def _look_up(table: Array, q: Array) -> Array:
        far = q >= table.size
        return np.where(far, 0.0, table[np.where(far, 0, q).astype(int)])

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Array:
        """Draw independent values for a simulation (never for a release).

        Rejection from double geometric noise of scale ``floor(sigma) + 1``.
        """
        scale = math.floor(self.sigma) + 1
        proposal = DoubleGeometric(1 / scale)
        out = np.zeros(int(np.prod(size)))
        left = np.arange(out.size)
        while left.size:
            y = proposal.sample(rng, left.size)
            away = (np.abs(y) - self.sigma2 / scale) ** 2 / (2 * self.sigma2)
            keep = rng.random(left.size) < np.exp(-away)
            out[left[keep]] = y[keep]
            left = left[~keep]
        return out.reshape(size)
