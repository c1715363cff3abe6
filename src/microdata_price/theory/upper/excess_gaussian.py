"""Gaussian noises above a threshold: the law of ``S(g) = sum_i (z_i - g)+``, smoothed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ...model.noise import Gaussian

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
_BLOCK = 16  # thresholds at once
_FAR, _FARTHEST, _HIGHEST = 9.0, (25.0, 40.0), 8.8  # standard deviations with nothing beyond
_SMALLEST, _NATS, _EXPONENT = 1e-17, 40.0, 700.0  # of a chance; its logarithm; still a double
_TILTS, _SHARES = np.geomspace(0.02, 30, 50), np.geomspace(1e-7, 1.0, 60)
_NEAR_0 = 0.5  # up to where the logarithm of 1 + z is computed from its parts


def log1p_complex(z: Complex) -> Complex:
    """Return ``ln(1 + z)`` of complex numbers without loss for small z."""
    small = np.abs(z) < _NEAR_0
    x, y = np.where(small, z.real, 0.0), np.where(small, z.imag, 0.0)
    near = 0.5 * np.log1p(x * (2 + x) + y**2) + 1j * np.arctan2(y, 1 + x)
    return np.asarray(np.where(small, near, np.log(np.where(small, 1.0, 1 + z))))


def harmonics(terms: Complex, angle: Array) -> Complex:
    """Return ``sum_j terms_j exp(i (j + 1/2) angle)``, by Horner's rule."""
    turn = np.exp(1j * angle)
    total = np.zeros(angle.shape, dtype=complex)
    for column in terms.T[::-1]:
        total *= turn
        total += column[:, None]
    return np.asarray(total * np.exp(0.5j * angle))


@dataclass(frozen=True)
class GaussianExcess:
    """Gaussian noises above a threshold, smoothed by one more, by Fourier inversion.

    The smoothing noise makes the characteristic function fall like a Gaussian, so that the midpoint
    rule converges faster than any power.
    """

    std: float
    std_other: float
    n: float

    def moments(self, g: Array) -> tuple[Array, Array]:
        """Return the mean of S(g), and n times an excess's second moment."""
        first, second = Gaussian(self.std).excess(np.abs(g))
        # Moments of (z - g)+ from those above |g|: by symmetry (z + h)+ = z + h + (-z - h)+.
        low = g < 0
        square = np.where(low, self.std**2 + g**2 - second, second)
        return self.n * np.where(low, first - g, first), self.n * square

    def below(self, g: Array, s: Array) -> Array:
        """Return ``P(S(g) + z <= s)`` for g of shape (G,) and s of shape (G, n)."""
        return self._invert(g, s, density=False)

    def density(self, g: Array, s: Array) -> Array:
        """Return the density of ``S(g) + z`` at s, per count."""
        return self._invert(g, s, density=True)

    @np.errstate(over="ignore")  # of very many noises, far below where s lies
    def _invert(self, g: Array, s: Array, density: bool) -> Array:
        mean, square = self.moments(g)
        variance = np.maximum(square - mean**2 / self.n, 0) + self.std_other**2
        spread = np.sqrt(variance)
        # The law lies between these ends, up to what is below rounding.
        low_end = np.maximum(mean - _FAR * np.sqrt(square), 0) - _FAR * self.std_other
        most = _FARTHEST[0] * spread + _FARTHEST[1] * self.std
        high_end = mean + np.clip(self._reach(g, mean), _FAR * spread, most)
        inside = np.clip(s, low_end[:, None], high_end[:, None])
        out = np.where(s > inside, 0.0 if density else 1.0, 0.0)
        near = (s == inside).any(axis=1)
        # It repeats with this period, and is centred for the sake of the highest frequency.
        period = high_end - low_end + self.std_other + self.std
        top = self._highest(g)
        count = np.ceil(top * period / (2 * math.pi)).astype(int)
        order = np.flatnonzero(near)[np.argsort(count[near])]
        for start in range(0, order.size, _BLOCK):
            block = order[start : start + _BLOCK]
            j = np.arange(count[block].max()) + 0.5
            step, middle = (2 * math.pi / period[block])[:, None], mean[block, None]
            terms = self._characteristic(g[block, None], j * step)
            terms = terms * np.exp(-1j * (j * step) * middle)
            angle = (middle - inside[block]) * step
            if density:
                found = harmonics(terms, angle).real * step / math.pi
            else:
                found = 0.5 - harmonics(terms / j, angle).imag / math.pi
            out[block] = np.where(s[block] == inside[block], found, out[block])
        return out if density else np.clip(out, 0.0, 1.0)

    def _reach(self, g: Array, mean: Array) -> Array:
        """Return how far above its mean the law lies with a chance of 1e-17, by Chernoff."""
        t, theta = g[:, None] / self.std, _TILTS
        grown = np.exp(np.minimum(theta * (theta / 2 - t), _EXPONENT)) * special.ndtr(theta - t)
        grown -= special.ndtr(-t)
        log = self.n * np.log1p(grown) + (theta * self.std_other / self.std) ** 2 / 2
        return np.asarray(self.std * ((_NATS + log) / theta).min(axis=1) - mean)

    def _highest(self, g: Array) -> Array:
        """Return frequencies from which on the characteristic function is below rounding."""
        places = _HIGHEST / self.std_other * _SHARES
        size = np.abs(self._characteristic(g[:, None], places))
        after = np.append(places[1:], places[-1])
        return np.asarray(np.where(size > _SMALLEST, after, places[0]).max(axis=1))

    def _characteristic(self, g: Array, omega: Array) -> Complex:
        t, u = g / self.std, omega * self.std
        scale = np.exp(-t * t / 2) / 2
        above = special.wofz((u + 1j * t) / math.sqrt(2)) - special.wofz(1j * t / math.sqrt(2))
        log = self.n * log1p_complex(np.asarray(scale * above, dtype=complex))
        return np.asarray(np.exp(log - (omega * self.std_other) ** 2 / 2))
