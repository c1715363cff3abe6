"""Fitting cells to a noisy sum with asymmetric noise: cheaper than any split of the budget.

A record moves its cell's noisy count and the noisy sum. The log density changes by ``+right`` or
``-left`` for each, by the side of the truth on which it lies, so that ``right + right* <= eps`` and
``left + left* <= eps`` suffice. Only the upper tail of the cells' noise costs ``ln d``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...exceptions import InputError
from ...model.noise_asymmetric import AsymmetricGeometric, AsymmetricLaplace, TwoRates
from ...model.privacy import check_epsilon
from ..given import check_points
from ..lower.search import maximise
from .one_sided import laplace_sides, largest
from .upper_bounds import Guaranteed

Array = NDArray[np.float64]

_MOST_TERMS = 10_000_000  # of a sum: 80 MB


def _largest_whole(noise: AsymmetricGeometric, d: float) -> float:
    """Return ``E M^2`` for whole noise: the sum of ``(2k - 1) P(M >= k)``."""
    chance = math.expm1(-noise.left) / math.expm1(-noise.left - noise.right)
    terms = (max(math.log(d * chance), 0.0) + 45.0) / noise.right
    if not terms < _MOST_TERMS:
        raise InputError(
            f"the largest of {d:g} draws of {noise!r} would need {terms:.2g} terms; use the "
            "continuous noise of the same rates in its place"
        )
    k = np.arange(1.0, math.ceil(terms) + 1)
    above = -np.expm1(d * np.log1p(-chance * np.exp(-noise.right * k)))
    return float((2 * k - 1) @ above)


class Rates(NamedTuple):
    """Rates of the sum's noise; the cells' are what they leave of epsilon. Any shape."""

    right: Array
    left: Array


def certified_asymmetric(
    epsilon: float, d: ArrayLike, right: ArrayLike, left: ArrayLike
) -> Guaranteed:
    """Bound the errors of fitting to a noisy sum with asymmetric Laplace noise, for all tables.

    ``right`` and ``left`` are the rates of the sum's noise; the cells have epsilon minus them.
    """
    eps = check_epsilon(epsilon)
    rates = np.broadcast_arrays(
        check_points(d), np.asarray(right, dtype=float), np.asarray(left, dtype=float)
    )
    n, up, down = rates
    if not ((up > 0) & (up < eps) & (down > 0) & (down < eps)).all():
        raise InputError("a rate of the sum's noise must lie between 0 and epsilon (both excluded)")
    total = 1 / up**2 + 1 / down**2
    return Guaranteed(laplace_sides(n, (eps - up, eps - down), (up, down)).C(), np.sqrt(total))


def best_rates(epsilon: float, d: ArrayLike, D: ArrayLike) -> Rates:
    """Return the rates of the sum's noise with root error D that certify the least C."""
    eps = check_epsilon(epsilon)
    n, target = np.broadcast_arrays(check_points(d), np.asarray(D, dtype=float))
    if not (target * eps > math.sqrt(2)).all():
        raise InputError(
            f"the sum error is {float(target.min()):g}; asymmetric noise needs more than sqrt(2)/"
            "epsilon"
        )
    # Below this the left rate would be epsilon or more.
    low = 1 / np.sqrt(target**2 - 1 / eps**2)
    high = np.minimum(math.sqrt(2) / target, low + (eps - low) * (1 - 1e-9))

    def left(right: Array) -> Array:
        return np.asarray(1 / np.sqrt(target[..., None] ** 2 - 1 / right**2))

    def score(share: Array) -> Array:
        right = low[..., None] + (high - low)[..., None] * share
        found = certified_asymmetric(eps, n[..., None], right, np.minimum(left(right), eps * _LAST))
        return -found.C

    share, _ = maximise(score, np.full(n.shape, 1e-6), np.ones(n.shape), coarse=33)
    right = low + (high - low) * share
    return Rates(right, left(right[..., None])[..., 0])


_LAST = 1 - 1e-12


@dataclass(frozen=True)
class AsymmetricPair:
    """The two noises of one mechanism, and what they promise.

    Parameters
    ----------
    cell, total
        The noise of every cell and of the sum.
    """

    cell: TwoRates
    total: TwoRates

    @property
    def epsilon(self) -> float:
        """The level of pure DP, for cell and sum together."""
        return max(self.cell.right + self.total.right, self.cell.left + self.total.left)

    @property
    def shift(self) -> float:
        """Shift of the noisy sum: the noise's mean, rounded if the noise is whole."""
        whole = isinstance(self.total, AsymmetricGeometric)
        return float(round(self.total.mean)) if whole else self.total.mean

    @property
    def D(self) -> float:
        """The sum's root error, exact: the supremum over all tables."""
        return math.sqrt(self.total.variance + (self.total.mean - self.shift) ** 2)

    def C(self, d: float) -> float:
        """Bound a cell's root error on every table, before cells are rounded."""
        n = float(check_points(d))
        above = self.total.excess_square(self.shift)
        low = self.cell.variance + self.cell.mean**2 - self.cell.excess_square(0.0)
        if isinstance(self.cell, AsymmetricGeometric):
            top = _largest_whole(self.cell, n)
        else:
            chance = self.cell.left / (self.cell.left + self.cell.right)
            top = float(largest(chance, n).square) / self.cell.right**2
        drift = math.sqrt(n * self.cell.variance + (n * self.cell.mean) ** 2)
        lift = (math.sqrt(above) + drift) / n
        return math.sqrt(top) + math.sqrt(self.D**2 - above) + math.hypot(math.sqrt(low), lift)


def asymmetric_pair(
    epsilon: float, d: float, D: float | None = None, *, whole: bool = False
) -> AsymmetricPair:
    """Return the noises that certify the least C at a sum error of about D."""
    eps = check_epsilon(epsilon)
    rates = best_rates(eps, d, math.sqrt(8) / eps if D is None else D)
    up, down = float(rates.right), float(rates.left)
    law = AsymmetricGeometric if whole else AsymmetricLaplace
    return AsymmetricPair(law(eps - up, eps - down), law(up, down))
