"""Gaussian noises above a threshold: the law of ``S(g) = sum_i (z_i - g)+``, smoothed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ..noise import Gaussian

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]


def log1p_complex(z: Complex) -> Complex:
    """Return ``ln(1 + z)`` without loss for small z, which NumPy's own loses for complex numbers.

    Examples
    --------
    >>> complex(log1p_complex(np.array(1e-20 + 2e-20j)))
    (1e-20+2e-20j)
    """
    small = np.abs(z) < 0.5
    x, y = np.where(small, z.real, 0.0), np.where(small, z.imag, 0.0)
    near = 0.5 * np.log1p(x * (2 + x) + y**2) + 1j * np.arctan2(y, 1 + x)
    return np.asarray(np.where(small, near, np.log(np.where(small, 1.0, 1 + z))))


@dataclass(frozen=True)
class GaussianExcess:
    """Gaussian noises above a threshold, smoothed by one more, by Fourier inversion.

    The smoothing noise makes the characteristic function fall like a Gaussian, so that the midpoint
    rule converges faster than any power.

    Examples
    --------
    >>> law = GaussianExcess(1.0, 1.0, 5)
    >>> round(float(law.below(np.array([30.0]), np.array([[0.0]]))[0, 0]), 12)
    0.5
    """

    std: float
    std_other: float
    n: float

    def below(self, g: Array, s: Array) -> Array:
        """Return ``P(S(g) + z <= s)`` for g of shape (G,) and s of shape (G, n)."""
        return self._invert(g, s)[0]

    def density(self, g: Array, s: Array) -> Array:
        """Return the density of ``S(g) + z`` at s, per count.

        Examples
        --------
        >>> law = GaussianExcess(1.0, 1.0, 5)
        >>> round(float(law.density(np.array([30.0]), np.array([[0.0]]))[0, 0]), 6)
        0.398942
        """
        return self._invert(g, s)[1]

    def _invert(self, g: Array, s: Array) -> tuple[Array, Array]:
        cdf, density = np.zeros(s.shape), np.zeros(s.shape)
        first, second = Gaussian(self.std).excess(np.abs(g))
        # Moments of (z - g)+ from those above |g|: by symmetry (z + h)+ = z + h + (-z - h)+.
        low = g < 0
        mean = np.where(low, -g + first, first)
        square = np.where(low, self.std**2 + g**2 - second, second)
        spread = np.sqrt(np.maximum(self.n * (square - mean**2), 0) + self.std_other**2)
        centre = self.n * mean
        for i in range(g.size):
            reach = float(s[i].max())
            if centre[i] - 40 * spread[i] > reach or self.n * mean[i] > 400 * self.std + 4 * reach:
                continue
            # The law repeats with this period; what lies beyond it is below rounding.
            period = max(reach, centre[i] + 25 * spread[i]) - min(float(s[i].min()), 0.0)
            period += 12 * self.std_other + 40 * self.std
            count = math.ceil(8.8 / self.std_other * period / (2 * math.pi)) + 1
            omega = (np.arange(count) + 0.5) * (2 * math.pi / period)
            values = np.exp(-1j * np.outer(s[i], omega)) * self._characteristic(g[i], omega)
            cdf[i] = 0.5 - (values.imag / (np.arange(count) + 0.5)).sum(axis=1) / math.pi
            density[i] = values.real.sum(axis=1) * 2 / period
        return np.clip(cdf, 0.0, 1.0), density

    def _characteristic(self, g: float, omega: Array) -> Complex:
        t, u = g / self.std, omega * self.std
        scale = math.exp(-t * t / 2) / 2
        above = special.wofz((u + 1j * t) / math.sqrt(2)) - special.wofz(1j * t / math.sqrt(2))
        log = (
            self.n * log1p_complex(np.asarray(scale * above, dtype=complex))
            - (omega * self.std_other) ** 2 / 2
        )
        return np.asarray(np.exp(log))
