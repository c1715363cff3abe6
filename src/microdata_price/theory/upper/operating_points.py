"""Known nonnegative mechanisms: their places in the plane of C and D.

Suprema over all tables are exact for clipping. Where the worst table is not known, there are a
lower end, the worst of a family (one large count among zeros, all cells empty, all counts large),
and what is certified for all tables.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.numbers import check_whole
from ...model.noise import Gaussian, Laplace
from ...model.privacy import ApproximateDP, ConcentratedDP, Guarantee, PureDP, check_guarantee
from ...theory.given import check_cells
from .asymmetric import best_rates
from .exact_errors import worst_clipped_sum
from .fit_quadrature import ORDER
from .fitted_errors import (
    cell_errors,
    empty_table_sum_error,
    large_table_errors,
    lone_cell_sum_error,
)
from .one_sided import certified_split, split_sides
from .projection import check_weight
from .remap import map_at
from .upper_bounds import exact_clipping
from .worst_table import certified_fit

Array = NDArray[np.float64]
Status = Literal["exact", "family", "certified"]

_LARGEST_SHARE = 0.75  # the last of a split path


@dataclass(frozen=True, eq=False)
class Operating:
    """Places of one mechanism, or of a family along a knob, in counts; arrays of shape (n,).

    The status is ``exact``: suprema over all tables; ``family``: the worst of the family; or
    ``certified``: upper ends for all tables. The knob is a weight, a share or a rate.
    """

    name: str
    status: Status
    C: Array
    D: Array
    knob: Array


def half_budget_noise(guarantee: Guarantee) -> Laplace | Gaussian:
    """Return the noise of M'_epsilon or M'_rho, on cells and sum alike."""
    return check_guarantee(guarantee).basis.scaled(0.5).noise()


def clipping(guarantee: Guarantee, d: float) -> Operating:
    """Return M_epsilon or M_rho: every cell's noisy count, zero if negative; exact.

    Examples
    --------
    >>> round(float(clipping(PureDP(0.5), 1000).D[0]), 1)
    961.1
    """
    found = exact_clipping(check_guarantee(guarantee).basis, check_cells(d))
    return _one("clip, $M$", "exact", float(found.C), float(found.D))


def mapped(guarantee: Guarantee, d: float) -> Operating | None:
    """Return M_epsilon or M_rho with small counts mapped; exact. None where none is computed.

    Examples
    --------
    >>> place = mapped(PureDP(0.5), 1000)
    >>> round(float(place.D[0]), 1), bool(place.C[0] == clipping(PureDP(0.5), 1000).C[0])
    (647.4, True)
    """
    found = map_at(check_guarantee(guarantee).basis)
    if found is None:
        return None
    return _one("small counts mapped, $T$", "exact", found.C, float(found.D(check_cells(d))))


def fitted(guarantee: Guarantee, d: float) -> tuple[Operating, Operating]:
    """Return M'_epsilon or M'_rho: its worst table's error, and what is certified for all.

    The worst table is one huge cell among empty ones, up to what cells gain by overshoot.

    Examples
    --------
    >>> known, sure = fitted(PureDP(0.5), 1000)
    >>> bool(known.C[0] < sure.C[0] < 1.012 * known.C[0]), bool(known.D[0] == sure.D[0])
    (True, True)
    """
    points, noise = check_cells(d), half_budget_noise(guarantee)
    cell = cell_errors(noise, noise, points).squared_error
    large, _ = large_table_errors(noise, noise, points, math.inf)
    sure = certified_fit(guarantee.basis, points, noise.std, even=True)
    return (
        _one("keep the sum, $M'$", "family", math.sqrt(max(cell, large)), noise.std),
        _one("keep the sum, $M'$", "certified", sure.most, noise.std),
    )


def weighted(
    guarantee: Guarantee, d: float, weights: ArrayLike, *, order: int = ORDER
) -> Operating:
    """Return nonnegative least squares with a weight of the sum, on the worst of the family.

    The budget is halved between cells and sum, as in M'; weights stand beside a cell's weight of 1;
    4 is order enough for a picture (`fit_quadrature`).

    Examples
    --------
    >>> path = weighted(PureDP(0.5), 100, [0.01, 1.0])
    >>> bool(path.C[0] < path.C[1]), bool(path.D[0] > path.D[1])
    (True, True)
    """
    points, noise = check_cells(d), half_budget_noise(guarantee)
    knob = np.atleast_1d(np.asarray(weights, dtype=float))
    C, D = [], []
    for w in knob.tolist():
        cell, total = large_table_errors(noise, noise, points, w)
        full = cell_errors(noise, noise, points, weight=w, order=order)
        C.append(max(cell, full.squared_error))
        lone = lone_cell_sum_error(noise, noise, points, w, order=order)
        D.append(max(total, lone, empty_table_sum_error(noise, noise, points, w, order=order)))
    return Operating("weighted sum", "family", np.sqrt(C), np.sqrt(D), knob)


def weighted_certified(guarantee: Guarantee, d: float, weights: ArrayLike) -> Operating:
    """Return nonnegative least squares with a weight of the sum, certified for all tables.

    `one_sided` bounds a cell's error and the threshold gamma at every weight. A cell also errs by
    at most its noise and gamma, the weight times how far the fitted sum lies from the noisy one;
    and the fitted sum lies between the noisy sum, clipped at 0, and the clipped cells' sum.
    """
    points, noise = check_cells(d), half_budget_noise(guarantee)
    knob = np.array([check_weight(w) for w in np.ravel(np.asarray(weights, dtype=float))])
    clip = float(worst_clipped_sum(noise, points).squared_error)
    apart = math.sqrt(clip + noise.variance)
    sides, _ = split_sides(guarantee.basis, points)
    clipped = knob == 0
    C = np.minimum(float(sides.C()), noise.std + knob * apart)
    near = noise.std + float(sides.gamma()) / np.where(clipped, 1.0, knob)
    D = np.where(clipped, math.sqrt(clip), np.minimum(near, apart))
    return Operating("weighted sum", "certified", C, D, knob)


def split(guarantee: Guarantee, d: float, count: int = 17) -> Operating:
    """Return M' with a share theta of the budget for the sum, certified for all tables.

    The shares go from the one that certifies the least C (below it both errors grow) to 3/4.
    """
    basis, points = check_guarantee(guarantee).basis, check_cells(d)
    every = np.linspace(0.01, _LARGEST_SHARE, 400)
    best = every[certified_split(basis, points, every).C.argmin()]
    shares = np.linspace(best, _LARGEST_SHARE, check_whole(count, "the number of places"))
    if count > 2 and best < 0.5:  # with the sum as good as a signed answer's among them
        shares[1 + np.abs(shares[1:-1] - 0.5).argmin()] = 0.5
    D = certified_split(basis, points, shares).D
    C = _certified(basis, points, D, even=True)
    return Operating("split budget", "certified", C, D, shares)


def _certified(basis: PureDP | ConcentratedDP, d: float, sums: Array, *, even: bool) -> Array:
    return np.array([certified_fit(basis, d, D, even=even).most for D in sums.tolist()])


def asymmetric(guarantee: PureDP | ApproximateDP, d: float, count: int = 17) -> Operating:
    """Return fitting with asymmetric noise at the best rates for each D, certified for all tables.

    D goes over that of `split`; the knob is the rate of the upper tail of the sum's noise, as a
    share of epsilon.
    """
    epsilon = check_guarantee(guarantee, PureDP, ApproximateDP).epsilon
    points = check_cells(d)
    D = split(guarantee, points, count).D
    rates = best_rates(epsilon, points, D)
    C = _certified(guarantee.basis, points, D, even=False)
    return Operating("asymmetric noise", "certified", C, D, rates.right / epsilon)


def _one(name: str, status: Status, C: float, D: float) -> Operating:
    return Operating(name, status, np.array([C]), np.array([D]), np.zeros(1))
