"""One-sided bounds on fitting cells to a noisy sum: only the upper tail costs ``ln d``.

The fit is ``x_i = (a_i - g)+``, nonnegative least squares with any weight of the sum (infinite for
M'). With z the noise of the cells, w that of the sum, ``M = max_j (z_j)+`` and ``S = sum_j z_j``,
on every table and for every cell

    |x_i - q_i| <= M + w- + max((z_i)-, (w+ + S-)/d) .

Proof. *Lemma*: either ``g <= M + w-``, or all cells are 0 and none had more than ``w-``; and if g <
0, then ``d |g| <= w+ + S-``. For at ``U = M + w-`` the cells ``(q_i + z_i - U)+`` add up to at most
``(q* - w-)+``. The fit's sum is ``a* + g/weight``, which at g = U is ``q* - w-`` or more; so ``g <=
U`` if ``q* >= w-``, and otherwise no cell is above U, so that g > U leaves the table empty. If g <
0, the fitted sum is below the noisy one: ``q* + S + d |g| <= sum_i (a_i - g)+ < q* + w``.

*Where g >= 0* a cell rises by at most ``(z_i)+ <= M`` and falls by at most ``(z_i)- + g``, or by g
alone where ``z_i >= 0``. *Where g < 0* it rises by at most ``(z_i)+ + |g|`` and falls by at most
``(z_i)-``. *Where the table is empty* it falls by its count.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ...exceptions import InputError
from ...model.noise import Laplace
from ...model.privacy import ConcentratedDP, PureDP
from ..given import check_points
from .upper_bounds import Guaranteed

Array = NDArray[np.float64]

_PANELS, _ORDER = 40, 16
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(_ORDER)
SURE = 45.0
"""This far above ln d (in scales) the largest noise is found with a chance below 1e-19."""


class Sides(NamedTuple):
    """Root mean squares of the sides of noise that the bound adds up, in counts; any shape."""

    largest: Array
    """Of M, the largest noise of a cell, or 0."""
    cell_below: Array
    """Of ``(z_i)-``."""
    sum_below: Array
    """Of ``w-``."""
    sum_above: Array
    """Of ``w+``."""
    drift: Array
    """Of S."""

    def C(self, d: ArrayLike) -> Array:
        """Bound a cell's root error on every table."""
        lift = self.lift(d)
        return np.asarray(self.largest + self.sum_below + np.hypot(self.cell_below, lift))

    def lift(self, d: ArrayLike) -> Array:
        """Bound how far cells are lifted where the threshold is negative."""
        return np.asarray((self.sum_above + self.drift) / check_points(d))

    def gamma(self, d: ArrayLike) -> Array:
        """Bound the root mean square of the threshold where the table is not empty."""
        return np.asarray(self.largest + self.sum_below + self.lift(d))


def largest_square(chance: ArrayLike, d: ArrayLike) -> Array:
    """Return ``E M^2`` for d draws, each 0 or, with a chance, exponential of rate 1.

    By quadrature of ``2 t (1 - (1 - p e^(-t))^d)``.
    """
    p, n = np.broadcast_arrays(np.asarray(chance, dtype=float), check_points(d))
    t, weights = _nodes(np.maximum(np.log(n * p), 0) + SURE)
    above = -np.expm1(n[..., None, None] * np.log1p(-p[..., None, None] * np.exp(-t)))
    return np.asarray((weights * 2 * t * above).sum((-1, -2)))


def largest_gaussian_square(d: ArrayLike) -> Array:
    """Return ``E M^2`` for d standard normal draws: quadrature of ``2 t (1 - Phi(t)^d)``."""
    n = check_points(d)
    t, weights = _nodes(np.sqrt(2 * (np.log(n) + SURE)))
    above = -np.expm1(n[..., None, None] * special.log_ndtr(t))
    return np.asarray((weights * 2 * t * above).sum((-1, -2)))


def _nodes(end: Array) -> tuple[Array, Array]:
    end = end[..., None, None]
    places = np.arange(_PANELS)[:, None] / _PANELS + (_NODES + 1) / (2 * _PANELS)
    return end * places, end * _WEIGHTS / (2 * _PANELS)


def split_sides(
    guarantee: PureDP | ConcentratedDP, d: ArrayLike, theta: ArrayLike = 0.5
) -> tuple[Sides, Array]:
    """Return the sides of M' with a share theta of the budget for the sum, and the sum's D."""
    n, share = np.broadcast_arrays(check_points(d), np.asarray(theta, dtype=float))
    if not ((share > 0) & (share < 1)).all():
        raise InputError(f"theta is {theta!r}; it must be between 0 and 1 (both excluded)")
    noise = guarantee.noise()
    cell, total = (noise.std * s ** (-1 / guarantee.norm) for s in (1 - share, share))
    if isinstance(noise, Laplace):
        largest = np.sqrt(largest_square(0.5, n) / 2)  # in standard deviations
    else:
        largest = np.sqrt(largest_gaussian_square(n))
    half = 1 / math.sqrt(2)
    return Sides(largest * cell, half * cell, half * total, half * total, np.sqrt(n) * cell), total


def certified_split(
    guarantee: PureDP | ConcentratedDP, d: ArrayLike, theta: ArrayLike = 0.5
) -> Guaranteed:
    """Bound fitting to the noisy sum with a split budget by the one-sided lemma.

    Below `upper_bounds.certified`, which takes both tails of all noises, wherever the sum has a
    tenth of the budget or more (observed, from 2 cells on).

    Examples
    --------
    >>> from microdata_price.theory.upper.upper_bounds import certified
    >>> bool(certified_split(PureDP(1.0), 1000).C < certified(PureDP(1.0), 1000).C)
    True
    """
    sides, D = split_sides(guarantee, d, theta)
    return Guaranteed(sides.C(d), D)
