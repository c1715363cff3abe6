"""One-sided bounds on fitting cells to a noisy sum: only the upper tail costs ``ln d``.

The fit is ``x_i = (a_i - g)+``, nonnegative least squares with any weight of the sum. With z the
noise of the cells, w that of the sum, ``M = max_j (z_j)+`` and ``S = sum_j z_j``, on every table

    |x_i - q_i| <= M + w- + max((z_i)-, (w+ + S-)/d) .

So, with ``l = (-E z)+`` and ``Z' = max(z-, l)``, C is at most the root mean square of ``M + w- +
Z'``, as if the three were independent, plus ``(|w+| + sd(S))/d`` (M and Z' are associated).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ...exceptions import InputError
from ...model.noise import Laplace
from ...model.privacy import ConcentratedDP, PureDP, check_guarantee
from ..given import check_points
from .extremes import SURE, Moments, largest
from .upper_bounds import Guaranteed

Array = NDArray[np.float64]


class Sides(NamedTuple):
    """Moments of the sides of noise that the bound adds up; any shape."""

    above: Moments
    """Of ``M + w-``."""
    below: Moments
    """Of Z'."""
    lift: Array
    """``(|w+| + sd(S))/d``."""
    least: Array
    """l, how far all cells are lifted on average."""

    def C(self) -> Array:
        """Bound a cell's root error on every table."""
        return np.asarray(np.sqrt((self.above + self.below).square) + self.lift)

    def gamma(self) -> Array:
        """Bound the root mean square of the threshold where the table is not empty."""
        return np.asarray(np.sqrt(self.above.square) + self.lift + self.least)


def largest_exponential(chance: ArrayLike, d: ArrayLike) -> Moments:
    """Return the moments of the largest of d draws, each 0 or, with a chance, exponential."""
    p, n = np.broadcast_arrays(np.asarray(chance, dtype=float), check_points(d))
    end, one = np.log1p(n * p) + SURE, p[..., None, None]
    return largest(end, n, lambda t: np.log1p(-one * np.exp(-t)))


def largest_gaussian(d: ArrayLike) -> Moments:
    """Return the moments of the largest of d standard normal draws, or of 0 if that is larger."""
    n = check_points(d)
    return largest(np.sqrt(2 * (np.log(n) + SURE)), n, special.log_ndtr)


def laplace_sides(d: Array, cell: tuple[Array, Array], total: tuple[Array, Array]) -> Sides:
    """Return the sides of asymmetric Laplace noises, given as right and left rates."""
    (r, s), (up, down) = cell, total
    one = largest_exponential(s / (r + s), d)
    top = Moments(one.mean / r, one.square / r**2)
    least = np.maximum(1 / s - 1 / r, 0)
    beyond = r / (r + s) * np.exp(-s * least)
    low = Moments(least + beyond / s, least**2 + beyond * 2 * (least / s + 1 / s**2))
    # The centred noise of the sum splits at its mean, which lies in one of its two tails.
    mean = 1 / up - 1 / down
    rate, other = np.where(mean >= 0, up, down), np.where(mean >= 0, down, up)
    chance = other / (up + down) * np.exp(-rate * np.abs(mean))
    far = chance * 2 / rate**2
    square = 1 / up**2 + 1 / down**2
    above = np.where(mean >= 0, far, square - far)
    lift = (np.sqrt(above) + np.sqrt(d * (1 / r**2 + 1 / s**2))) / d
    return Sides(top + Moments(chance / rate, square - above), low, lift, least)


def split_sides(
    guarantee: PureDP | ConcentratedDP, d: ArrayLike, theta: ArrayLike = 0.5
) -> tuple[Sides, Array]:
    """Return the sides of M' with a share theta of the budget for the sum, and the sum's D."""
    n, share = np.broadcast_arrays(check_points(d), np.asarray(theta, dtype=float))
    if not ((share > 0) & (share < 1)).all():
        raise InputError(f"theta is {theta!r}; it must be between 0 and 1 (both excluded)")
    noise = check_guarantee(guarantee, PureDP, ConcentratedDP).noise()
    cell, total = (noise.std * s ** (-1 / guarantee.norm) for s in (1 - share, share))
    if isinstance(noise, Laplace):
        rates = [(math.sqrt(2) / std,) * 2 for std in (cell, total)]
        return laplace_sides(n, rates[0], rates[1]), total
    one, half = largest_gaussian(n), 1 / math.sqrt(2 * math.pi)
    top = Moments(one.mean * cell, one.square * cell**2)
    low, below = (Moments(half * std, std**2 / 2) for std in (cell, total))
    lift = (total / math.sqrt(2) + np.sqrt(n) * cell) / n
    return Sides(top + below, low, lift, np.zeros(n.shape)), total


def certified_split(
    guarantee: PureDP | ConcentratedDP, d: ArrayLike, theta: ArrayLike = 0.5
) -> Guaranteed:
    """Bound fitting to the noisy sum with a split budget by the one-sided lemma."""
    sides, D = split_sides(guarantee, d, theta)
    return Guaranteed(sides.C(), D)
