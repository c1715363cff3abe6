"""Laplace noises above a threshold: the law of ``S(g) = sum_i (z_i - g)+``."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ...model.noise import Gaussian, Laplace
from .excess_gaussian import GaussianExcess, harmonics, log1p_complex

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_MANY = 99
"""From this n on the noises above a negative g add up to more than any s that matters."""
_EULER, _TERMS, _EXTRA = 12.5, 60, 12
_FEW = 45
"""Up to this mean number of noises above g the law is summed over their number."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_LARGE_X = 500.0
_BLOCK = 24  # thresholds at once
_TINY = 1e-12  # of a scale: what rounding may make of 0
_SURE, _NATS, _PER_ROOT, _HIGH = 45.0, 40.0, 13.5, 10.0  # where chances and frequencies end
_SERIES = np.arange(20)


@dataclass(frozen=True)
class LaplaceExcess:
    """Laplace noises of scale ``b`` above a threshold, smoothed by one of scale ``b_other``.

    Above g >= 0 a number K of the n noises, binomial with ``p = exp(-g/b)/2``, exceed g by
    independent exponentials of mean b, so that S is a Gamma variable of shape K. Then ``P(S + z <=
    s)`` is a mean of weights over a Poisson variable of mean s/b.
    """

    b: float
    b_other: float
    n: float

    def _transform(self, g: Array, theta: Array | Complex) -> Array | Complex:
        """Return ``E exp(-theta (z - g)+)`` to the power n."""
        h = np.maximum(-g, 0) / self.b
        t = theta * self.b
        p = 0.5 * np.exp(-np.maximum(g, 0) / self.b)
        # For g < 0 the noises between g and 0 add a term that is 0/0 at t = 1.
        gap = h * (1 - t)
        ratio = np.expm1(gap) / np.where(gap == 0, 1.0, gap)
        decay = np.exp(-h)
        middle = 0.5 * decay * h * np.where(gap == 0, 1.0, ratio)
        low = np.log(0.5 * decay + middle + np.exp(-t * h) / (2 * (1 + t)))
        high = log1p_complex(np.asarray(-p * t / (1 + t), dtype=complex))
        return np.exp(self.n * np.where(g >= 0, high, low))

    def below(self, g: Array, s: Array) -> Array:
        """Return ``P(S(g) + z <= s)`` for g of shape (G,) and s of shape (G, n)."""
        factor = self._transform(g, np.asarray(1 / self.b_other)).real[:, None]
        out = 0.5 * np.exp(np.minimum(s, 0) / self.b_other) * factor
        # Rounding must not make a place at 0 one that is just above it.
        above = s > _TINY * self.b
        rows = (g >= 0) & above.any(axis=1)
        if rows.any():
            part = np.where(above[rows], s[rows], self.b)
            summed = self._above(g[rows], part, smoothed=True)
            out[rows] = np.where(above[rows], summed, out[rows])
        i, j = np.nonzero(above & (g < 0)[:, None])
        if i.size:
            out[i, j] = self._euler(g[i], s[i, j]) if self.n < _MANY else 0.0
        return out

    def survival(self, g: Array, v: Array) -> Array:
        """Return ``P(S(g) > v)`` for g >= 0 and v > 0: no smoothing."""
        return 1 - self._above(g, v, smoothed=False)

    def moments(self, g: Array, theta: Array) -> tuple[Array, Array, Array]:
        """Return ``E S^i exp(-theta S)`` for i = 0, 1, 2 and g < 0; the arguments broadcast."""
        h = -g / self.b
        t = theta * self.b
        low, top = 0.5 * np.exp(-h), 0.5 * np.exp(-t * h)
        middle = [h ** (i + 1) * low * _unit_integral((1 - t) * h, i) for i in range(3)]
        one = low + middle[0] + top / (1 + t)
        first = middle[1] + top * (h / (1 + t) + 1 / (1 + t) ** 2)
        second = middle[2] + top * (h**2 / (1 + t) + 2 * h / (1 + t) ** 2 + 2 / (1 + t) ** 3)
        n = self.n
        once = n * one ** (n - 1)
        squares = once * second + n * (n - 1) * one ** (n - 2) * first**2
        return one**n, self.b * once * first, self.b**2 * squares

    def exceeded(self, g: Array, alpha: Array, beta: float, rate: float) -> Array:
        """Return the integral of ``(alpha + beta s) e^(-rate s) P(S + z > s)`` over s > 0, g < 0.

        The part below S is integrated in closed form, but for ``P(z > s - S)``, whose integral is a
        mean over rates between the two of `moments`; no law of S is needed.
        """
        other = 1 / self.b_other
        m0, m1, _ = self.moments(g, np.asarray(rate))
        full = alpha / rate + beta / rate**2
        total = full * (1 - m0) - beta / rate * m1
        both = rate + other
        total += 0.5 * ((alpha / both + beta / both**2) * m0 + beta / both * m1)
        share, weights = (_NODES + 1) / 2, _WEIGHTS / 2
        mixed = rate * share + other * (1 - share)
        _, n1, n2 = self.moments(g[..., None], mixed)
        return np.asarray(total - 0.5 * ((alpha[..., None] * n1 + beta * share * n2) @ weights))

    def _above(self, g: Array, s: Array, smoothed: bool) -> Array:
        """Return ``P(S + z <= s)``, or ``P(S <= s)``, for g >= 0 and s > 0."""
        out = np.empty(s.shape)
        many = 0.5 * self.n * np.exp(-g / self.b) > _FEW
        for i in np.flatnonzero(many):
            out[i] = self._fourier(float(g[i]), s[i], smoothed)
        few = np.flatnonzero(~many)
        for start in range(0, few.size, _BLOCK):
            block = few[start : start + _BLOCK]
            out[block] = self._poisson_mean(g[block], s[block], smoothed)
        return out

    def _fourier(self, g: float, s: Array, smoothed: bool) -> Array:
        """Invert the characteristic function, which many noises above g make short."""
        p = 0.5 * math.exp(-g / self.b)
        mean = self.n * p * self.b
        other = self.b_other if smoothed else 0.0
        # Beyond this distance the chance is below rounding, by Chernoff's bound.
        half = (_SURE + _PER_ROOT * math.sqrt(self.n * p)) * max(self.b, other)
        near = np.abs(s - mean) < half
        out = np.where(s > mean, 1.0, 0.0)
        if near.any():
            # Beyond the last frequency the characteristic function is below 1e-17.
            share = _NATS / (self.n * p)
            top = math.sqrt(share / (1 - share)) if share < 1 else _HIGH
            step = math.pi / (half + self.b)
            j = np.arange(math.ceil(min(top, _HIGH) / self.b / step)) + 0.5
            omega = j * step
            log = self.n * log1p_complex(-p * omega * self.b * 1j / (1 + omega * self.b * 1j))
            # E exp(-i omega S), centred at the mean, over the frequency's number.
            values = np.exp(log + 1j * omega * mean) / (1 + (omega * other) ** 2) / j
            angle = (s[near] - mean) * step
            out[near] = 0.5 + harmonics(values[None], angle[None])[0].imag / math.pi
        return np.clip(out, 0.0, 1.0)

    def _poisson_mean(self, g: Array, s: Array, smoothed: bool) -> Array:
        """Return the mean over j, Poisson of mean s/b, of the weights of `_weights`."""
        x = s / self.b
        mean = 0.5 * self.n * np.exp(-g / self.b)
        ratio = self.b / self.b_other
        # By Chernoff's bound S + z is far below so large an s, if z has no longer tail than S.
        large = _LARGE_X if ratio < 1 else enough(float(mean.max()))
        xs = np.minimum(x, large)
        terms = enough(float(max(xs.max(), mean.max())))
        out = _poisson_sum(xs, self._weights(g, terms, smoothed))
        if smoothed and ratio > 2:
            out -= self._steep(xs, self._binomial(g, terms))
        far = x > large
        if far.any():
            # S is far below s, and only the smoothing noise can exceed it.
            out[far] = 1.0
            if smoothed and ratio < 1:
                grown = self._transform(g, np.asarray(-1 / self.b_other)).real
                tail = 0.5 * np.exp(-s / self.b_other) * grown[:, None]
                out[far] -= tail[far]
        return out

    def _binomial(self, g: Array, terms: int) -> Array:
        """Return the probabilities B_k that k noises exceed g, for k up to ``terms``."""
        p = 0.5 * np.exp(-g / self.b)
        k = np.arange(terms + 1.0)
        with np.errstate(divide="ignore"):
            steps = np.log(np.maximum(self.n - k[:-1], 0)) - np.log(k[1:])
        logs = np.concatenate([[0.0], np.cumsum(steps)])
        odds, none = -math.log(2) - g / self.b - np.log1p(-p), self.n * np.log1p(-p)
        return np.asarray(np.exp(logs + k * odds[:, None] + none[:, None]))

    def _weights(self, g: Array, terms: int, smoothed: bool) -> Array:
        """Return W_j(g) for j < terms.

        Without smoothing the sum of B_k over k <= j. Smoothing adds half of ``sum_(k > j) B_k (1 +
        r)^(j-k)`` and takes half of ``sum_(k <= j) B_k (1 - r)^(j-k)``, with r = b/b_other; the
        latter would grow for r > 2 and is left to `_steep`.
        """
        binomial = self._binomial(g, terms)
        weights = np.cumsum(binomial[:, :-1], axis=1)
        if not smoothed:
            return np.asarray(np.minimum(weights, 1.0))
        r = self.b / self.b_other
        above, below = np.zeros(g.size), np.zeros(g.size)
        for j in range(terms - 1, -1, -1):
            above = (above + binomial[:, j + 1]) / (1 + r)
            weights[:, j] += 0.5 * above
        for j in range(terms if r <= 2 else 0):
            below = binomial[:, j] + (1 - r) * below
            weights[:, j] -= 0.5 * below
        return weights

    def _steep(self, x: Array, binomial: Array) -> Array:
        """Return the mean over k of ``P(S < s, z > s - S)`` given k noises above g, for r > 2."""
        r = self.b / self.b_other
        term, chance = np.exp(-x), 0.5 * np.exp(-r * x)
        total = chance * binomial[:, :1]
        for k in range(1, binomial.shape[1]):
            chance = (chance - 0.5 * term) / (1 - r)
            term = term * (x / k)
            total += chance * binomial[:, k : k + 1]
        return total

    def _euler(self, g: Array, s: Array) -> Array:
        """Invert the Laplace transform in s by Euler summation of its Fourier series; all flat."""
        k = np.arange(_TERMS + _EXTRA + 1)
        # Alternating signs, and binomial weights on the last terms, make one linear functional.
        last = np.cumsum(special.binom(_EXTRA, np.arange(_EXTRA + 1))[::-1])[::-1] / 2**_EXTRA
        weights = np.where(k <= _TERMS, 1.0, last[np.maximum(k - _TERMS, 0)]) * (-1.0) ** k
        weights[0] = 0.5
        theta: Complex = np.asarray((_EULER + 1j * math.pi * k) / s[..., None])
        image = self._image(g[:, None], theta)
        return np.asarray(math.exp(_EULER) / s * (image.real @ weights))

    def _image(self, g: Array, theta: Complex) -> Complex:
        """Return the Laplace transform in s of ``P(S + z <= s)``."""
        rate = 1 / self.b_other
        own, fixed = self._transform(g, theta), self._transform(g, np.asarray(rate))
        gap = rate - theta
        return np.asarray(own * (0.5 / gap + 1 / theta - 0.5 / (theta + rate)) - 0.5 * fixed / gap)


def _poisson_sum(x: Array, weights: Array) -> Array:
    """Return the mean of weights (G, terms) over Poisson variables of means x (G, n)."""
    term = np.exp(-x)
    total = term * weights[:, :1]
    for j in range(1, weights.shape[1]):
        term = term * (x / j)
        total += term * weights[:, j : j + 1]
    return total


def enough(mean: float) -> int:
    """Return a number that a Poisson variable of a mean exceeds with no chance to speak of."""
    return math.ceil(mean + _PER_ROOT * math.sqrt(mean) + _SURE)


def _unit_integral(x: Array, power: int) -> Array:
    """Integral of ``t^power exp(x t)`` over t from 0 to 1, for power 0, 1 or 2."""
    small = np.abs(x) < 1
    terms = np.where(small, x, 0.0)[..., None] ** _SERIES / special.factorial(_SERIES)
    series = (terms / (_SERIES + power + 1)).sum(axis=-1)
    y = np.where(small, 1.0, x)
    e = np.exp(np.minimum(y, 700.0))
    closed = [(e - 1) / y, (e * (y - 1) + 1) / y**2, (e * (y * y - 2 * y + 2) - 2) / y**3][power]
    return np.asarray(np.where(small, series, closed))


def excess_sum(
    cell_noise: Laplace | Gaussian, other: Laplace | Gaussian, n: float
) -> LaplaceExcess | GaussianExcess:
    """Return the law of n excesses of one noise, smoothed by one draw of another of its kind."""
    if isinstance(cell_noise, Gaussian):
        assert isinstance(other, Gaussian)
        return GaussianExcess(cell_noise.std, other.std, n)
    assert isinstance(other, Laplace)
    return LaplaceExcess(cell_noise.scale, other.scale, n)
