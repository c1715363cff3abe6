"""Smooth noise under zCDP: a wide core with Gaussian flanks, and exponential tails for the sum.

Noise of density ``exp(-phi)`` is rho-zCDP for a count if phi' is Lipschitz with constant ``2 rho``.
A far tail is paid for at high orders only, where exponential tails of the sum cost a constant; low
orders see the cores. So C is ``(1 + o(1)) sqrt(ln(d)/rho)`` for every ``rho D^2 > 1/2``.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import logsumexp

from ...base.numbers import standard_error
from ...exceptions import InputError
from ...model.privacy import check_rho
from ..given import check_cells

Array = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_DRAWN = 20_000  # noises of a run at most
_SURE = 60.0  # what lies e^-60 below the largest value is left out
_PLACES, _END, _SHIFTED = 20_001, 1e-6, 25  # of a tail; its last chance, in steps; of a shift


def concentrated_wall(rho: float) -> float:
    """Least ``rho D^2`` of any rho-zCDP mechanism, ``rho/(e^(2 rho) - 1)``: nearly 1/2."""
    return check_rho(rho) / math.expm1(2 * rho)


@dataclass(frozen=True)
class SmoothNoise:
    """Symmetric noise of density ``exp(-phi)``, phi'' constant between knots.

    Parameters
    ----------
    knots
        Where phi'' changes, in counts, increasing and positive.
    curvatures
        phi'' up to each knot and beyond the last; one more than the knots, none negative.
    """

    knots: tuple[float, ...]
    curvatures: tuple[float, ...]

    def __post_init__(self) -> None:
        at, bends = np.array([0.0, *self.knots]), np.array(self.curvatures)
        good = len(bends) == len(at) and (np.diff(at) > 0).all() and (bends >= 0).all()
        if not (good and np.isfinite(at).all() and bends.max(initial=0) > 0):
            raise InputError(
                f"the knots are {self.knots!r} and the curvatures {self.curvatures!r}; knots must "
                "increase from above 0, and curvatures, one more, be 0 or more and not all 0"
            )

    @property
    def rho(self) -> float:
        """The level of zCDP of this noise on a count: half the largest curvature."""
        return max(self.curvatures) / 2

    @cached_property
    def _pieces(self) -> tuple[Array, Array, Array, Array]:
        at, bend = np.array([0.0, *self.knots]), np.array(self.curvatures)
        width = np.diff(at)
        slope = np.concatenate(([0.0], np.cumsum(bend[:-1] * width)))
        rise = slope[:-1] * width + bend[:-1] * width**2 / 2
        return at, np.concatenate(([0.0], np.cumsum(rise))), slope, bend

    def potential(self, x: ArrayLike) -> Array:
        """Return phi, 0 at 0."""
        at, value, slope, bend = self._pieces
        y = np.abs(np.asarray(x, dtype=float))
        i = np.searchsorted(at, y, side="right") - 1
        u = y - at[i]
        return np.asarray(value[i] + u * (slope[i] + bend[i] * u / 2))

    @cached_property
    def reach(self) -> float:
        """The place where phi is 60: what lies beyond weighs nothing."""
        high = max([1.0, *self.knots])
        while self.potential(high) < _SURE:
            high *= 2
        return float(brentq(lambda x: float(self.potential(x)) - _SURE, 0.0, high))

    def _panels(self, ends: Array) -> tuple[Array, Array]:
        """Cut at the ends, and finely enough for every curvature."""
        width = 1 / math.sqrt(max(self.curvatures))
        cuts = [
            np.linspace(a, b, math.ceil((b - a) / width) + 1) for a, b in itertools.pairwise(ends)
        ]
        fine = np.unique(np.concatenate(cuts))
        half = np.diff(fine)[:, None] / 2
        return fine[:-1, None] + half * (_NODES + 1), np.log(half * _WEIGHTS)

    @cached_property
    def _half(self) -> tuple[Array, Array]:
        inside = [k for k in self.knots if k < self.reach]
        x, log_weight = self._panels(np.array([0.0, *inside, self.reach]))
        return x, log_weight - self.potential(x)

    @cached_property
    def log_mass(self) -> float:
        """The logarithm of the integral of ``exp(-phi)``."""
        return math.log(2) + float(logsumexp(self._half[1]))

    def log_density(self, x: ArrayLike) -> Array:
        """Logarithm of the density at x."""
        return -self.potential(x) - self.log_mass

    @cached_property
    def variance(self) -> float:
        """The variance, in squared counts."""
        x, log_weight = self._half
        return 2 * float((x**2 * np.exp(log_weight - self.log_mass)).sum())

    @cached_property
    def _tail(self) -> tuple[Array, Array]:
        """Places, and minus the logarithm of the chance to exceed each."""
        x = np.linspace(0, self.reach, _PLACES)
        f = np.exp(self.log_density(x))
        steps = np.diff(x) * (f[1:] + f[:-1]) / 2
        above = np.append(np.cumsum(steps[::-1])[::-1], steps[-1] * _END)
        return x, -np.log(above / above[0] / 2)

    def upper_quantile(self, p: ArrayLike) -> Array:
        """Return the t with ``P(z > t) = p``, by interpolation on a fine grid: for simulations."""
        x, depth = self._tail
        share = np.asarray(p, dtype=float)
        size = np.interp(-np.log(np.minimum(share, 1 - share)), depth, x)
        return np.asarray(np.where(share < 0.5, size, -size))

    def renyi(self, order: float, shift: float = 1.0) -> float:
        """Renyi divergence between this noise at two counts, in nats, by quadrature."""
        at, bend = self._pieces[0], self._pieces[3]
        high = self.reach + shift
        if bend[-1] > 0:  # the mass may sit at a distance of about the order
            high += order * shift + at[-1] + math.sqrt(2 * _SURE / bend[-1])
        knots = np.array([*-at, *at])
        zones = np.concatenate([np.linspace(k, k + shift, _SHIFTED) for k in knots])
        zones = zones[(zones > -high) & (zones < high)]
        x, log_weight = self._panels(np.unique(np.array([-high, *zones, high])))
        exponent = (order - 1) * self.potential(x) - order * self.potential(x - shift)
        return (float(logsumexp(exponent + log_weight)) - self.log_mass) / (order - 1)


class SampledError(NamedTuple):
    """Ends of a root error over all tables, in counts, each with its standard error."""

    least: float
    least_se: float
    most: float
    most_se: float


class Pair(NamedTuple):
    """Noise of every cell and of the sum, independent: one record moves one of each by one."""

    cell: SmoothNoise
    total: SmoothNoise

    def budget_used(self, rho: float, orders: ArrayLike) -> Array:
        """Divergences of both, summed, over ``order rho``: at most 1 if the pair is rho-zCDP."""
        given = np.asarray(orders, dtype=float)
        both = [self.cell.renyi(a) + self.total.renyi(a) for a in given]
        return np.array(both) / (given * rho)

    def sampled_cell_error(self, d: int, runs: int, seed: int = 1) -> SampledError:
        """Worst cell error of fitting d cells to the noisy sum, by simulation of `worst_table`.

        Of more than 20,000 cells only the largest noises are drawn, which alone count.
        """
        n, rng = int(check_cells(d)) - 1, np.random.default_rng(seed)
        kept, loss, gain = min(n, _DRAWN), np.empty(runs), np.empty(runs)
        for i in range(runs):
            waits = np.cumsum(rng.exponential(size=kept))
            rest = rng.gamma(n + 1 - kept)
            high = self.cell.upper_quantile(waits / (waits[-1] + rest))
            own, w = self.cell.upper_quantile(rng.random()), self.total.upper_quantile(rng.random())
            # G is the largest of these: H is convex and piecewise straight.
            level = (own - w + np.cumsum(high)) / np.arange(2, kept + 2)
            loss[i] = max(float(level.max()), float(own - w)) - own
            mean = (high.sum() + own - w) / d if kept == n else 0.0
            gain[i] = max(float(own) - mean, 0.0)
        ends = []
        for x in (loss, np.maximum(loss, gain)):
            root = math.sqrt(float((x**2).mean()))
            ends += [root, float(standard_error(x**2)) / (2 * root)]
        return SampledError(*ends)


SEARCHED = {
    10**3: Pair(
        SmoothNoise((3.9, 7.7), (0.1121, 0.1733, 0.1361)),
        SmoothNoise((2.51, 6.19), (0.1465, 0.0955, 0.0539)),
    ),
    10**6: Pair(
        SmoothNoise((4.61, 5.68), (0.112, 0.2076, 0.1714)),
        SmoothNoise((2.63, 4.96), (0.1546, 0.0884, 0.0424)),
    ),
}
"""Pairs at rho = 1/8 and ``rho D^2 <= 1`` found by a search for the least cell error, by d."""


def core_and_flanks(rho: float, core: float, flank: float, W: float, R: float) -> Pair:
    """Pair of noises with which C tends to ``sqrt(ln(d)/rho)``: cores and flanks.

    The sum's noise is Gaussian within W, of the share ``core`` of rho, and exponential beyond. The
    cells' is Gaussian of half of what that leaves within R, and of the share ``flank`` beyond.
    """
    if not (0 < core < 1 and 0 < flank < 1):
        raise InputError(f"the shares are {core!r} and {flank!r}; they must lie between 0 and 1")
    twice = 2 * check_rho(rho)
    total = SmoothNoise((W,), (twice * core, 0.0))
    return Pair(SmoothNoise((R,), (twice * (1 - core) / 2, twice * flank)), total)
